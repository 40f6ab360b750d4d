# syntax=docker/dockerfile:1
# The image of every radarstream process: worker, collector, Beam worker pool, submission.
#   docker build --file infra/worker.Dockerfile --tag radarstream:0.1.0 .
# MODELS decides which models are in it: "embedded" (default), or "api" for none. Every package
# has the version and hash of requirements/image-MODELS.txt. PYTHON_IMAGE is the base image; compose.yaml
# gives it with its digest (see docs/deployment.md).
ARG PYTHON_IMAGE=python:3.11.13-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
ARG MODELS=embedded
RUN python -m venv /opt/build && python -m venv /opt/radarstream
WORKDIR /src
COPY requirements requirements
RUN requirements/install.sh /opt/build/bin/python build \
    && requirements/install.sh /opt/radarstream/bin/python "image-${MODELS}"
COPY pyproject.toml README.md ./
COPY radarstream radarstream
COPY schemas schemas
COPY defenses defenses
COPY connectors connectors
COPY pipelines pipelines
COPY lab lab
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /dist . \
    && /opt/radarstream/bin/pip install --no-deps --no-index /dist/*.whl \
    && /opt/radarstream/bin/python -m compileall -q /opt/radarstream/lib

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="radarstream" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0 AND LicenseRef-Gemma-Terms-of-Use" \
      org.opencontainers.image.description="Code, and the weights of all-MiniLM-L6-v2: Apache License 2.0. Weights of Gemma 3 270M: Gemma Terms of Use, ai.google.dev/gemma/terms. See /usr/share/doc/radarstream/NOTICE."
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libgomp1=12.2.0-14+deb12u1 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* \
    && useradd --uid 10001 --user-group --home-dir /var/lib/radarstream --create-home radarstream
COPY LICENSE NOTICE /usr/share/doc/radarstream/
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
