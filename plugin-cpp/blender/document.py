"""Writes the table of parameters in docs/blender.md from the one table: python3 plugin-cpp/blender/document.py [--check]"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "blender.md"
BEGIN, END = "<!-- parameters: generated -->", "<!-- end of parameters -->"
PLACES = {"scene": "Domain", "source": "Liquid, Inflow", "collider": "Obstacle", "body": "Floating Body"}


def hidden() -> set:
    """Names that the add-on leaves out, read from its own source."""
    text = (ROOT / "plugin-cpp/blender/meniscus_liquids/table.py").read_text(encoding="utf-8")
    names = text.split("_NOT_HERE = {")[1].split("}")[0]
    return {n.strip().strip('"') for n in names.replace("\n", " ").split(",")}


def table() -> str:
    rows = json.loads((ROOT / "plugin-cpp/node/parameters.json").read_text(encoding="utf-8"))["parameters"]
    skip = hidden()
    lines = ["| parameter | on | unit | default | what it does | what it costs | when to touch it |", "|" + "---|" * 7]
    for r in rows:
        if r["name"] in skip or r["type"] == "button" or "blender" not in r.get("hosts", ["blender"]):
            continue
        text = " | ".join(r.get(k, "").replace("Y is up", "Z is up") for k in ("does", "cost", "touch"))
        label = {"side_z_min": "+Y Side", "side_z_max": "-Y Side"}.get(r["name"], r["label"])
        advanced = " (advanced)" if r["level"] == "advanced" else ""
        default = r["default"]
        if r["type"] == "vector":
            # The table has Y up, Blender has Z up.
            default = [default[0], 0.0 - default[2], default[1]]
        lines.append(f"| {label}{advanced} | {PLACES[r['of']]} | {r.get('unit', '')} | {default} | {text} |")
    return "\n".join(lines).replace("Pa.s", "Pa·s").replace("m^3", "m³").replace("s^2", "s²")


def main() -> int:
    old = PAGE.read_text(encoding="utf-8")
    head, rest = old.split(BEGIN)
    new = f"{head}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"
    if "--check" in sys.argv:
        if new != old:
            print("docs/blender.md is not current: run python3 plugin-cpp/blender/document.py", file=sys.stderr)
        return int(new != old)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
