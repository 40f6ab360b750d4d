"""What the service says when it cannot do what was asked, in the shape of OpenAI's interface:
`{"error": {"message", "type", "param", "code"}}`, without traces or words of others.
"""

from collections.abc import Callable, Mapping
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException

from radarstream.pipelines.job.incidents.intake import RefusedComplaintError
from radarstream.schemas import errors

DEFECT = "internal_error"
RETRY_S = 2  # what a client is told to wait when nothing better is known
TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
ErrorPage = Callable[[Request, "ServiceError"], Response | None]

log = structlog.get_logger("radarstream")


class ServiceError(Exception):
    """A request that is refused or that failed; `code` is for programs, `message` for people."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.param = status, code, message, param
        self.headers = dict(headers or {})

    @property
    def body(self) -> dict[str, Any]:
        """The error as OpenAI's interface writes it."""
        kind = TYPES.get(
            self.status, "server_error" if self.status >= 500 else "invalid_request_error"
        )
        text = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        return {"error": text}

    def response(self) -> JSONResponse:
        """The error as a response."""
        return JSONResponse(self.body, self.status, headers=self.headers)


def wrong(param: str, why: str, code: str = "invalid_value", status: int = 400) -> ServiceError:
    """The refusal of a field, by its path into the body, such as `documents.0.text`."""
    return ServiceError(status, code, f"{param}: {why}", param=param)


def unavailable(code: str, message: str, seconds: int = RETRY_S) -> ServiceError:
    """An error that goes away by itself: 503 with Retry-After."""
    return ServiceError(503, code, message, headers={"Retry-After": str(seconds)})


def too_many(what: str, seconds: float) -> ServiceError:
    """The refusal of a request that comes too soon."""
    wait = str(max(1, round(seconds + 0.5)))
    text = f"{what}; try again in {wait} s"
    return ServiceError(429, "rate_limit_exceeded", text, headers={"Retry-After": wait})


def service_error(error: BaseException) -> ServiceError:
    """What a client is told of an error. Only NotFoundError, BudgetSpentError, ClaimError,
    DocumentError, InputError and refused reports repeat their words: others may name hosts.
    """
    match error:
        case ServiceError():
            return error
        case errors.DatabaseUnavailableError() | errors.StateConflictError() | SQLAlchemyError():
            return unavailable("database_unavailable", "the database does not answer; try again")
        case errors.ModelError():
            return unavailable("model_unavailable", "no model answers at the moment; try again")
        case errors.SearchError():
            return unavailable("search_unavailable", "the search gave no results; try again")
        case errors.NotFoundError() | errors.BudgetSpentError():  # trying again does not help
            spent = isinstance(error, errors.BudgetSpentError)
            status, code = (403, "epsilon_budget_spent") if spent else (404, "not_found")
            return ServiceError(status, code, str(error))
        case errors.InputError() | errors.DocumentError() | errors.ClaimError():
            param = error.name if isinstance(error, errors.DocumentError) else None
            return ServiceError(400, error.code, error.detail, param=param)
        case errors.ConfigurationError():
            text = "the service is not set up for this; its log says what is missing"
            return ServiceError(500, "misconfigured", text)
        case RefusedComplaintError():
            status = {"enough": 429, "not_kept": 404}.get(error.reason, 400)
            return ServiceError(status, f"report_{error.reason}", str(error))
        case errors.RadarstreamError():
            return unavailable("failed", "the question could not be answered; try again")
    return ServiceError(500, DEFECT, "the service failed; its log says why")


def install_error_handlers(app: FastAPI, error_page: ErrorPage) -> None:
    """Answer every error of `app` in one shape, or by a page where one is for a browser."""

    async def answer(request: Request, error: Exception) -> Response:
        answered = of_request(error) or service_error(error)
        if isinstance(error, errors.RadarstreamError | SQLAlchemyError):
            log.warning("request failed", status=answered.status, error=error)
        elif answered.code == DEFECT:
            log.error("a request failed by a defect", status=500, error=error)
        return error_page(request, answered) or answered.response()

    kinds = (
        ServiceError,
        errors.RadarstreamError,
        SQLAlchemyError,
        HTTPException,
        RequestValidationError,
    )
    for kind in (*kinds, Exception):
        app.add_exception_handler(kind, answer)


def of_request(error: Exception) -> ServiceError | None:
    """What a client is told where the framework refuses a request; None for other errors."""
    if isinstance(error, RequestValidationError):
        return invalid(error.errors())
    if not isinstance(error, HTTPException):
        return None
    codes, status = {404: "not_found", 405: "method_not_allowed"}, error.status_code
    code = codes.get(status, "invalid_request")
    return ServiceError(status, code, str(error.detail), headers=error.headers)


def invalid(problems: Any) -> ServiceError:
    """The first problem that pydantic found, without the value that it was found in."""
    first: dict[str, Any] = next(iter(problems), {})
    place = [str(part) for part in first.get("loc", ()) if part not in ("body", "query", "path")]
    where = ".".join(place)[:100]
    what = "the body is no valid JSON" if first.get("type") == "json_invalid" else first.get("msg")
    message = f"{where}: {what}" if where and what != "the body is no valid JSON" else str(what)
    return ServiceError(400, "invalid_value", message[:300], param=where or None)
