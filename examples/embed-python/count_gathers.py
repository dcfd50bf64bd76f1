"""A pass that counts all-gathers, as a program of its own: piper-opt --pass-exec='python3 count_gathers.py'."""

import piper


def count_gathers(cx: piper.PassContext) -> None:
    gathers = [op for op in cx.walk() if op.name == "dag.all_gather"]
    cx.remark(f"{len(gathers)} all-gather(s)")


if __name__ == "__main__":
    piper.passes.main(count_gathers)
