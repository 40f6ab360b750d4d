# syntax=docker/dockerfile:1
# The image of every radarstream process: worker, collector, Beam worker pool, submission.
#   docker build --file infra/worker.Dockerfile --tag radarstream:0.1.0 .
# EXTRAS decides which models are in it: "embedded" (default), "gpu", or none for the profile "api".

FROM python:3.11.13-slim-bookworm AS build
ARG EXTRAS=embedded,otel,pages,postgres
RUN python -m venv /opt/radarstream
ENV PATH=/opt/radarstream/bin:$PATH
WORKDIR /src
COPY pyproject.toml constraints.txt README.md ./
COPY schemas schemas
COPY defenses defenses
COPY connectors connectors
COPY pipelines pipelines
RUN pip install --no-cache-dir --disable-pip-version-check --constraint constraints.txt ".[${EXTRAS}]" \
    && python -m compileall -q /opt/radarstream/lib

FROM python:3.11.13-slim-bookworm
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --home-dir /var/lib/radarstream --create-home radarstream
COPY --from=build /opt/radarstream /opt/radarstream
ENV PATH=/opt/radarstream/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
WORKDIR /var/lib/radarstream
EXPOSE 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=6s --start-period=180s --retries=4 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:9464/healthz', timeout=5)"]
ENTRYPOINT ["radarstream"]
CMD ["run"]
