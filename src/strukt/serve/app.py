"""The web application: its endpoints, and its error responses as JSON."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from strukt.errors import StruktError
from strukt.serve import metrics as counting
from strukt.serve.guard import BodyLimit, Guard, Hosts
from strukt.serve.limits import Limits
from strukt.serve.messages import (
    AnnotateRequest,
    AnnotateResponse,
    ModelCard,
    PredictRequest,
    PredictResponse,
    Problem,
)
from strukt.serve.metrics import Metrics
from strukt.serve.refusals import problem, unreadable, validation_message
from strukt.serve.service import Service
from strukt.serve.workers import BUSY, LateError, OverloadError
from strukt.tasks.common.model import Model
from strukt.viz import svg

MEDIA = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
"""The media types of the files of the page, by suffix."""

ASSETS = {
    "/" if path.suffix == ".html" else f"/{path.name}": path
    for path in sorted(Path(__file__).parent.iterdir())
    if path.suffix in MEDIA
}
"""The files of the page, by address."""

PROBLEMS: dict[int | str, dict[str, Any]] = {
    413: {"model": Problem, "description": "The request is too large"},
    422: {"model": Problem, "description": "The request is invalid, or has no answer"},
    503: {"model": Problem, "description": "Too many requests are waiting"},
    504: {"model": Problem, "description": "The answer took too long"},
}
"""Error responses, for the OpenAPI documentation."""

HUNG_UP = 499
"""Status, in logs and metrics, of requests whose client closed the connection before the response."""

Reply = TypeVar("Reply")

RETRY = {"Retry-After": "1"}
"""Header of responses to requests that clients may repeat after a second."""

KEEP = {"Cache-Control": "max-age=300"}
"""Header of the files of the page, which browsers may keep for five minutes."""


def create_app(
    models: Mapping[str, Model],
    limits: Limits | None = None,
    when_ready: Callable[[], None] = lambda: None,
    hosts: Collection[str] | None = None,
) -> FastAPI:
    """Return a FastAPI application that serves models; `/openapi.json` describes its endpoints.

    Args:
        models: One or more models by name, in evaluation mode, as from `strukt.load`.
        limits: Limits on requests; `Limits()` if None.
        when_ready: Called once all models have warmed up, in a thread; by default, nothing happens then.
        hosts: The host names, without ports, that requests may be addressed to: `strukt.serve.guard.LOOPBACK`
            for a service that only its own machine can use; None for any name.

    Raises:
        ValueError: If there is no model.

    Examples:
        >>> from strukt.serve.limits import Limits
        >>> from fastapi.testclient import TestClient
        >>> from strukt.data import conllu
        >>> from strukt.tasks.tag.config import Config
        >>> from strukt.tasks.tag.model import Tagger
        >>> sentence = conllu.from_forms(["Dogs", "bark"]).annotated(xpos=["NNS", "VBP"])
        >>> app = create_app({"tagger": Tagger.from_corpus(Config(), [sentence]).eval()}, Limits(words=40))
        >>> response = TestClient(app).post("/predict", json={"texts": ["Dogs bark"]})
        >>> [answer["words"] for answer in response.json()["answers"]]
        [['Dogs', 'bark']]
    """
    if not models:
        raise ValueError("models is empty; expected one or more models by name")
    limits = limits or Limits()
    service, metrics = Service(models, limits), Metrics()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(asyncio.to_thread(service.warm_up, when_ready))
        yield
        service.close()
        await warming

    app = FastAPI(
        title="strukt",
        summary="The best structures of sentences, their marginals and samples, also under conditions.",
        version=version("strukt"),
        lifespan=lifespan,
        docs_url=None,  # these pages load scripts from other sites
        redoc_url=None,
    )
    _add_api(app, service, metrics)
    _add_page(app)
    _add_problems(app)
    app.add_middleware(BodyLimit, limits=limits, files={"/annotate"})
    if hosts is not None:
        app.add_middleware(Hosts, names=hosts)
    app.add_middleware(Guard, metrics=metrics, paths={*ASSETS, *app.openapi()["paths"]})
    return app


def _add_api(app: FastAPI, service: Service, metrics: Metrics) -> None:
    """Add the endpoints for programs; the docstrings of their functions are in the OpenAPI documentation."""

    @app.post("/predict", responses=PROBLEMS, response_model_exclude_none=True)
    async def predict(body: PredictRequest, request: Request) -> PredictResponse:
        """Predict the structures of sentences."""
        served = service.served(body.model)
        request.state.model = served.card.name
        return await _unless_hung_up(request, service.predict(served, body))

    @app.post("/annotate", responses=PROBLEMS)
    async def annotate(file: AnnotateRequest, request: Request) -> AnnotateResponse:
        """Annotate a file; the result has the format of the file."""
        served = service.served(file.model)
        request.state.model = served.card.name
        return await _unless_hung_up(request, service.annotate(served, file))

    @app.get("/models")
    async def models() -> list[ModelCard]:
        """List the models with their views."""
        return service.cards

    @app.get("/health")
    async def health() -> dict[str, str]:
        """Report that the process is up."""
        return {"status": "up"}

    @app.get("/ready", responses={503: PROBLEMS[503]})
    async def ready() -> dict[str, str]:
        """Report whether the kernels are compiled and a thread is free of abandoned requests."""
        if not service.warm:
            raise HTTPException(503, "kernels are being compiled; answers are slower until then", RETRY)
        if service.workers.lost:
            raise HTTPException(503, BUSY, RETRY)
        return {"status": "ready"}

    @app.get("/metrics", response_class=Response)
    async def measured() -> Response:
        """Return counters and timings in the text format of Prometheus."""
        return Response(metrics.text(service.cards, service.workers.late), media_type=counting.CONTENT_TYPE)


async def _unless_hung_up(request: Request, answering: Coroutine[Any, Any, Reply]) -> Reply:
    """Return the result of a computation; cancel it as soon as the client closes the connection."""
    work, gone = asyncio.ensure_future(answering), asyncio.ensure_future(_hung_up(request))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise HTTPException(HUNG_UP, "the client has closed the connection")
        return work.result()
    finally:
        work.cancel()
        gone.cancel()


async def _hung_up(request: Request) -> None:
    """Wait until the client closes the connection, after the body of the request has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _add_page(app: FastAPI) -> None:
    """Add the addresses of the page's files, with the style sheet of pictures appended to that of the page."""
    for address, path in ASSETS.items():
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".css":
            text += svg.STYLE
        app.add_api_route(address, _asset_route(text, MEDIA[path.suffix]), include_in_schema=False)


def _asset_route(text: str, kind: str) -> Any:
    """Return a function that responds with a file of the page, of media type `kind`."""

    async def asset() -> Response:
        return Response(text, media_type=kind, headers=KEEP)

    return asset


def _add_problems(app: FastAPI) -> None:
    """Add handlers that turn exceptions into the error responses of `refusals.problem`."""

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return problem(422, validation_message(error.errors()[0]))

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 400:  # from FastAPI, if Python cannot parse the JSON
            return problem(422, unreadable(error.__cause__))
        if error.status_code == 404:
            return problem(404, "there is nothing at this address; /openapi.json lists all endpoints")
        if error.status_code == 405:
            allowed = (error.headers or {}).get("Allow", "other methods")
            message = f"this address does not accept {request.method}; use {allowed}"
            return problem(405, message, error.headers)
        return problem(error.status_code, error.detail, error.headers)

    @app.exception_handler(StruktError)
    async def unanswerable(_: Request, error: StruktError) -> JSONResponse:
        # The message of a data error omits the file name, because there is no file here.
        message = getattr(error, "message", str(error))
        if isinstance(error, OverloadError):
            return problem(503, message, RETRY)
        return problem(504 if isinstance(error, LateError) else 422, message)
