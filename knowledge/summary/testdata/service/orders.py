"""Routes of the order service.

Second paragraph."""
from __future__ import annotations
import logging
import httpx
from enum import Enum
from fastapi import APIRouter, HTTPException
from orders.models import Order, OrderIn
from shop_common.clients import BillingClient
from .core import store

logger = logging.getLogger(__name__)
TIMEOUT_SECONDS = 5
BASE = "x" * 3
NAME: str = "orders"  # a comment
router = APIRouter(prefix="/orders", tags=["a"])
billing_client = BillingClient()

class Status(str, Enum):
    OPEN = "open"
    CLOSED = "closed"

class Order2(Base):
    """A thing."""
    id: int
    name: str = "x"
    def f(self, a, b: int = 3) -> None:
        x = 1

@router.get("/{order_id}", response_model=Order)
async def get_order(order_id: int) -> Order:
    """Returns it."""
    try:
        r = httpx.get(f"http://billing/{order_id}", timeout=TIMEOUT_SECONDS)
    except httpx.TimeoutException as exc:
        # status_code=599
        raise HTTPException(status_code=504, detail="x") from exc
    except (KeyError, ValueError):
        return JSONResponse({}, status_code=status.HTTP_400_BAD_REQUEST)
    local_variable = "SECRET-BODY"  # secret comment
    if order_id not in store:
        raise HTTPException(404, "no")
    billing_client.charge(order_id)
    ledger.book(order_id)
    self.client.post("/x", json={})
    return r

@router.api_route("/many", methods=["POST", "PUT"])
def many(items, *args): ...
@router.websocket("/ws")
async def ws(s): ...
app.include_router(router, prefix="/v1")


@app.exception_handler(StockError)
async def stock_error(request: Request, exc: StockError) -> JSONResponse:
    """Out of stock."""
    return JSONResponse({"detail": "SECRET-BODY"}, status_code=409)


def _private(x):
    with httpx.AsyncClient(base_url="http://stock") as client:
        return client.get("/items", timeout=httpx.Timeout(5))
