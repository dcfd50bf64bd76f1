"""A pass that moves every all-gather up to where its operand is made: piper-opt --pass-exec='python3 hoist_gathers.py'."""

import piper


def hoist_gathers(cx: piper.PassContext) -> None:
    for op in cx.walk():
        if op.name == "dag.all_gather":
            maker = op.operands[0].owner
            first = maker.next if maker is not None else op.block.operations[0]
            if first is not None and first != op:
                op.move_before(first)
                cx.remark("moved up", op)


if __name__ == "__main__":
    piper.passes.main(hoist_gathers)
