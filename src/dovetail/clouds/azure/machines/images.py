"""Which image a machine starts from: four ways to say it, one of which is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from dovetail.api.fields import Fields

Wire = dict[str, Any]
_FORMS: Final = ("id", "marketplace", "sharedGallery", "computeGallery")
_PLAN: Final = ("publisher", "offer", "sku")


@dataclass(frozen=True, slots=True)
class Image:
    """Both as Azure spells them; `plan` is what a seller wants to be agreed to, None where nobody does."""

    reference: Wire
    plan: Wire | None = None


def image(spec: Fields, subscription: str) -> Image:
    if not spec.has("image"):
        raise spec.bad("image", f"is missing; name one by {', '.join(_FORMS)}")
    one = spec.map("image").only(_FORMS)
    given = [name for name in _FORMS if one.has(name)]
    if len(given) != 1:
        raise spec.bad("image", f"needs one of {', '.join(_FORMS)}, and has {' and '.join(given) or 'none'}")
    if given == ["id"]:
        return Image({"id": one.required("id")})
    form = one.map(given[0])
    if given == ["marketplace"]:
        return _marketplace(form)
    return _shared(form, subscription) if given == ["sharedGallery"] else _gallery(form)


def _marketplace(one: Fields) -> Image:
    one.only((*_PLAN, "version", "thirdPartyImage"))
    reference = {name: one.required(name) for name in (*_PLAN, "version")}
    return Image(reference, _plan(one) if one.flag("thirdPartyImage") else None)


def _shared(one: Fields, subscription: str) -> Image:
    one.only(("subscriptionID", "resourceGroup", "gallery", "name", "version", *_PLAN))
    owner = one.text("subscriptionID") or subscription
    planned = any(one.has(name) for name in _PLAN)
    return Image({"id": _in_gallery(owner, one)}, _plan(one) if planned else None)


def _gallery(one: Fields) -> Image:
    """A gallery of one's own, or one that somebody shares with everybody."""
    one.only(("gallery", "name", "version", "subscriptionID", "resourceGroup", "plan"))
    owner = one.text("subscriptionID")
    plan = _plan(one.map("plan").only(_PLAN)) if one.has("plan") else None
    if owner:
        return Image({"id": _in_gallery(owner, one)}, plan)
    if one.has("resourceGroup"):
        raise one.bad("subscriptionID", "is missing beside resourceGroup")
    gallery, name, version = (one.required(each) for each in ("gallery", "name", "version"))
    return Image({"communityGalleryImageId": f"/CommunityGalleries/{gallery}/Images/{name}/Versions/{version}"}, plan)


def _in_gallery(owner: str, one: Fields) -> str:
    group, gallery, name, version = (one.required(each) for each in ("resourceGroup", "gallery", "name", "version"))
    inner = f"providers/Microsoft.Compute/galleries/{gallery}/images/{name}/versions/{version}"
    return f"/subscriptions/{owner}/resourceGroups/{group}/{inner}"


def _plan(one: Fields) -> Wire:
    return {"name": one.required("sku"), "publisher": one.required("publisher"), "product": one.required("offer")}
