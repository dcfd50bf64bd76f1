//! The operations of the device level.

use piper_ir::AttrConstraint as A;
use piper_ir::TypeConstraint as T;
use piper_ir::{TypeData, dialect_ops};

use super::{kernels, verify};

/// A range of an arena seen as elements of one type.
const BUFFER: T = T::Pred(
    "a flat buffer such as memref<128xf32>",
    |ctx, ty| matches!(ty.data(ctx), TypeData::MemRef { shape, layout: None, space: None, .. } if shape.len() == 1),
);
/// Coordinates on some axes of the mesh.
const COORDS: A = A::Pred("coordinates such as {pp = 1}", |ctx, attr| {
    attr.as_dict(ctx)
        .is_some_and(|entries| entries.iter().all(|(_, at)| at.as_int(ctx).is_some_and(|c| c >= 0)))
});
/// A number that is not negative.
const COUNT: A =
    A::Pred("an integer, 0 or more", |ctx, attr| attr.as_int(ctx).is_some_and(|n| n >= 0));

dialect_ops! {
    /// A compiled step: programs for all devices of a mesh and the declarations they share.
    ///
    /// `graph` is the `dag.graph` it was made from, if it is still there.
    ///
    /// ```mlir module
    /// strategy.mesh @cluster <["dp" = 2]>
    /// device.plan "step" on @cluster {
    ///   device.comm @all members [{dp = 0}, {dp = 1}]
    ///   device.output "loss"
    ///   device.program @everyone for {} streams ["compute"] {
    ///     %l = device.buffer "l" : memref<1xf32>
    ///     device.fill %l with 0.5 on "compute"
    ///     device.store_output %l to "loss" part 0 strides {dp = 1} on "compute"
    ///   }
    /// }
    /// ```
    Plan = "device.plan" {
        attrs: { name: one(A::Str), mesh: one(A::Symbol), graph: optional(A::Symbol) },
        regions: { body: one },
        traits: [SymbolTable, IsolatedFromAbove, SingleBlock, NoTerminator],
        format: "$name (`of` $graph^)? `on` $mesh attr-dict-with-keyword $body",
        verify: verify::plan,
    }

    /// A communicator: the group of a device, in order, each member as coordinates that replace the device's own.
    ///
    /// `device.comm @dp members [{dp = 0}, {dp = 1}]`. Without members it carries point-to-point transfers only.
    ///
    /// ```mlir module
    /// strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
    /// device.plan "step" on @cluster {
    ///   device.comm @dp members [{dp = 0}, {dp = 1}]
    ///   device.comm @p2p members []
    /// }
    /// ```
    Comm = "device.comm" {
        attrs: { sym_name: one(A::Str), members: one(A::Array) },
        traits: [Symbol],
        format: "$sym_name `members` $members attr-dict",
    }

    /// A part of every device, for some streams and communicators.
    ///
    /// It is `size` of `total` multiprocessors that the driver sets aside (`green`), blocks of persistent grids (`grid`), or
    /// `workers` of a CPU.
    ///
    /// Streams of these names run on it in every program, and the kernels of the communicators, within their CTAs. Partitions promise
    /// neither to run at the same time nor to go on while another waits.
    ///
    /// ```mlir module
    /// strategy.mesh @cluster <["dp" = 2]>
    /// device.plan "step" on @cluster {
    ///   device.comm @dp members [{dp = 0}, {dp = 1}]
    ///   device.partition @comm green 24 of 132 arch "sm_90" streams ["comm"] comms [@dp] ctas 1 to 20
    /// }
    /// ```
    Partition = "device.partition" {
        attrs: {
            sym_name: one(A::Str), method: one(A::Enum(&["green", "grid", "workers"])), size: one(COUNT), total: one(COUNT),
            arch: one(A::Str), streams: one(A::Array), comms: one(A::Array), min_ctas: optional(COUNT), ctas: optional(COUNT),
        },
        traits: [Symbol],
        format: "$sym_name $method $size `of` $total `arch` $arch `streams` $streams `comms` $comms (`ctas` $min_ctas^ `to` $ctas)? attr-dict",
        verify: verify::partition,
    }

    /// A tensor that the data source supplies each step, in its global shape; dimension 0 is the batch.
    ///
    /// ```mlir module
    /// strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
    /// device.plan "step" on @cluster {
    ///   device.input "tokens" : tensor<8x64xi32>
    /// }
    /// ```
    Input = "device.input" {
        attrs: { name: one(A::Str), tensor: one(A::Type) },
        format: "$name `:` $tensor attr-dict",
    }

    /// Something a step reports: a number (the sum of its parts), or with a type a logical tensor put together from its homes.
    ///
    /// ```mlir module
    /// strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
    /// device.plan "step" on @cluster {
    ///   device.output "loss"
    ///   device.output "grad.w" : tensor<4x4xf32>
    /// }
    /// ```
    Output = "device.output" {
        attrs: { name: one(A::Str), tensor: optional(A::Type) },
        format: "$name (`:` $tensor^)? attr-dict",
    }

    /// A logical tensor that persists between steps, with its initial values (`#nn.init<...>` or a number).
    ///
    /// ```mlir module
    /// strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
    /// device.plan "step" on @cluster {
    ///   device.state "w" : tensor<4x4xf32> init #nn.init<normal<0.0, 0.02>>
    ///   device.state "w.momentum" : tensor<4x4xf32> init 0.0
    /// }
    /// ```
    State = "device.state" {
        attrs: { name: one(A::Str), tensor: one(A::Type), init: one(A::Any) },
        format: "$name `:` $tensor `init` $init attr-dict",
    }

    /// A number that is computed anew each step: `"step"` (counted from 1), a constant, or a learning-rate schedule.
    ///
    /// ```mlir module
    /// strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
    /// device.plan "step" on @cluster {
    ///   device.scalar "step" is "step"
    /// }
    /// ```
    Scalar = "device.scalar" {
        attrs: { name: one(A::Str), source: one(A::Any) },
        format: "$name `is` $source attr-dict",
    }

    /// A kernel that is not a function of the model: one of the built-in set, for certain sizes and with certain constants.
    ///
    /// `device.kernel @adamw_128xf32 adamw {beta1 = 0.9, ...} : (memref<128xf32>, ...) -> ()`. The signature has what it reads,
    /// then what it updates, and as results what it writes.
    ///
    /// ```mlir module
    /// strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
    /// device.plan "step" on @cluster {
    ///   device.kernel @add accumulate {} : (memref<8xf32>, memref<8xf32>) -> ()
    /// }
    /// ```
    Kernel = "device.kernel" {
        attrs: { sym_name: one(A::Str), kernel: one(A::Enum(kernels::NAMES)), hyper: one(A::Dict), signature: one(A::Type) },
        traits: [Symbol],
        format: "$sym_name $kernel $hyper `:` $signature attr-dict",
        verify: verify::kernel,
    }

    /// What the devices of a slice run. Axes not named are free: all devices along them run the same program.
    ///
    /// ```mlir module
    /// strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
    /// device.plan "step" on @cluster {
    ///   device.program @last for {pp = 1} streams ["compute", "comm"] arena 32 {
    ///     %x = device.buffer "x" : memref<8xf32> at 0
    ///     device.fill %x with 0.0 on "compute"
    ///   }
    /// }
    /// ```
    Program = "device.program" {
        attrs: { sym_name: one(A::Str), slice: one(COORDS), streams: one(A::Array), arena_bytes: optional(COUNT) },
        regions: { body: one },
        traits: [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator],
        format: "$sym_name `for` $slice `streams` $streams (`arena` $arena_bytes^)? attr-dict-with-keyword $body",
        verify: verify::program,
    }

    /// A range of the arena. `at` is its first byte, once planned; `persistent` buffers keep their contents between steps.
    ///
    /// ```mlir
    /// %y = device.buffer "y" : memref<8xf32> at 96
    /// ```
    Buffer = "device.buffer" {
        results: { buffer: one(BUFFER) },
        attrs: { name: one(A::Str), persistent: optional(A::Unit), offset: optional(COUNT) },
        traits: [NamesResult],
        format: "$name `:` type($buffer) (`persistent` $persistent^)? (`at` $offset^)? attr-dict",
    }

    /// A part of a buffer, from an element on. The element type is the same.
    ///
    /// ```mlir
    /// %half = device.view "half" of %w : memref<8xf32> from 8
    /// ```
    View = "device.view" {
        operands: { base: one(BUFFER) },
        results: { view: one(BUFFER) },
        attrs: { name: one(A::Str), start: one(COUNT) },
        traits: [NamesResult],
        format: "$name `of` $base `:` type($view) `from` $start attr-dict",
        verify: verify::view,
    }

    /// Says that a buffer holds elements of a state (or of an output): `len` elements that begin at element `bucket` of a bucket.
    ///
    /// The bucket is the buffer itself, or, with `shard`, the buffers of all members of a communicator one after the other.
    /// `start` (with `strides` by coordinate) is the first tensor element, 0 if not given; `count` runs are `step` elements
    /// apart in the tensor.
    ///
    /// ```mlir
    /// device.home %w of "w" bucket 0 len 16
    /// device.home %w of output "grad.w" bucket 0 len 16 shard @dp
    /// ```
    Home = "device.home" {
        operands: { buffer: one(BUFFER) },
        attrs: {
            tensor: one(A::Str), bucket: one(COUNT), len: one(COUNT), shard: optional(A::Symbol), output: optional(A::Unit),
            start: optional(COUNT), strides: optional(COORDS), step: optional(COUNT), count: optional(COUNT),
        },
        format: "$buffer `of` (`output` $output^)? $tensor `bucket` $bucket `len` $len (`shard` $shard^)? attr-dict",
    }

    /// Runs a function of the model, or a `device.kernel`, over whole buffers.
    ///
    /// The parameters of the kernel are what it reads, then what it updates (reads and writes), then what it writes (every
    /// element, none read before). A function reads its arguments and writes its results.
    ///
    /// ```mlir
    /// device.launch @f reads(%x) writes(%v) on "compute" name "f.0"
    /// device.launch @add reads(%x) updates(%v) on "compute"
    /// ```
    Launch = "device.launch" {
        operands: { reads: many(BUFFER), updates: many(BUFFER), writes: many(BUFFER) },
        attrs: { callee: one(A::Symbol), scalars: optional(A::Array), stream: one(A::Str), name: optional(A::Str) },
        format: "$callee (`reads` `(` $reads^ `)`)? (`updates` `(` $updates^ `)`)? (`writes` `(` $writes^ `)`)? (`scalars` $scalars^)? `on` $stream (`name` $name^)? attr-dict",
        verify: verify::launch,
    }

    /// Sends a buffer to the device whose coordinate is this one's with `peer` put in. `tag` identifies the value.
    ///
    /// Sends and receives pair by position on each channel (communicator, sender, receiver); the tag is never transmitted.
    ///
    /// ```mlir
    /// device.send %v to {pp = 1} over @p2p tag 7 on "comm" name "h.0"
    /// ```
    Send = "device.send" {
        operands: { buffer: one(BUFFER) },
        attrs: { peer: one(COORDS), comm: one(A::Symbol), tag: optional(COUNT), stream: one(A::Str), name: optional(A::Str) },
        format: "$buffer `to` $peer `over` $comm (`tag` $tag^)? `on` $stream (`name` $name^)? attr-dict",
        verify: verify::instruction,
    }

    /// Receives into a buffer from the device whose coordinate is this one's with `peer` put in.
    ///
    /// ```mlir
    /// device.recv %x from {pp = 1} over @p2p tag 8 on "comm" name "dh.0"
    /// ```
    Recv = "device.recv" {
        operands: { buffer: one(BUFFER) },
        attrs: { peer: one(COORDS), comm: one(A::Symbol), tag: optional(COUNT), stream: one(A::Str), name: optional(A::Str) },
        format: "$buffer `from` $peer `over` $comm (`tag` $tag^)? `on` $stream (`name` $name^)? attr-dict",
        verify: verify::instruction,
    }

    /// Sends and receives that start together and end together.
    ///
    /// ```mlir
    /// device.group on "comm" name "swap" {
    ///   device.send %v to {pp = 1} over @p2p on "comm"
    ///   device.recv %x from {pp = 1} over @p2p on "comm"
    /// }
    /// ```
    Group = "device.group" {
        attrs: { stream: one(A::Str), name: optional(A::Str) },
        regions: { body: one },
        traits: [SingleBlock, NoTerminator],
        format: "`on` $stream (`name` $name^)? attr-dict-with-keyword $body",
        verify: verify::group,
    }

    /// The sum of `src` over the members, on every member in `dst`. Both may be the same buffer.
    ///
    /// ```mlir
    /// device.all_reduce %w to %w over @dp on "comm"
    /// ```
    AllReduce = "device.all_reduce" {
        operands: { src: one(BUFFER), dst: one(BUFFER) },
        attrs: { comm: one(A::Symbol), stream: one(A::Str), name: optional(A::Str) },
        format: "$src `to` $dst `over` $comm `on` $stream (`name` $name^)? attr-dict",
        verify: verify::instruction,
    }

    /// Member `k` of `n` gets the `k`-th of `n` equal parts of the sum of `src` over the members.
    ///
    /// ```mlir
    /// device.reduce_scatter %w to %v over @dp on "comm"
    /// ```
    ReduceScatter = "device.reduce_scatter" {
        operands: { src: one(BUFFER), dst: one(BUFFER) },
        attrs: { comm: one(A::Symbol), stream: one(A::Str), name: optional(A::Str) },
        format: "$src `to` $dst `over` $comm `on` $stream (`name` $name^)? attr-dict",
        verify: verify::instruction,
    }

    /// The members' `src` one after the other, on every member in `dst`.
    ///
    /// ```mlir
    /// device.all_gather %v to %w over @dp on "comm"
    /// ```
    AllGather = "device.all_gather" {
        operands: { src: one(BUFFER), dst: one(BUFFER) },
        attrs: { comm: one(A::Symbol), stream: one(A::Str), name: optional(A::Str) },
        format: "$src `to` $dst `over` $comm `on` $stream (`name` $name^)? attr-dict",
        verify: verify::instruction,
    }

    /// Member `k`'s `j`-th of `n` equal parts becomes member `j`'s `k`-th. A part is `src_runs` contiguous runs of `src` (which is
    /// `src_runs` x `n` x run) and `dst_runs` of `dst`.
    ///
    /// ```mlir
    /// device.all_to_all %v to %x over @dp runs 1 to 2 on "comm"
    /// ```
    AllToAll = "device.all_to_all" {
        operands: { src: one(BUFFER), dst: one(BUFFER) },
        attrs: { comm: one(A::Symbol), src_runs: one(COUNT), dst_runs: one(COUNT), stream: one(A::Str), name: optional(A::Str) },
        format: "$src `to` $dst `over` $comm `runs` $src_runs `to` $dst_runs `on` $stream (`name` $name^)? attr-dict",
        verify: verify::instruction,
    }

    /// Copies the bytes of a buffer to one of equal size.
    ///
    /// ```mlir
    /// device.copy %v to %x on "compute"
    /// ```
    Copy = "device.copy" {
        operands: { src: one(BUFFER), dst: one(BUFFER) },
        attrs: { stream: one(A::Str), name: optional(A::Str) },
        format: "$src `to` $dst `on` $stream (`name` $name^)? attr-dict",
        verify: verify::instruction,
    }

    /// Sets every element to a value.
    ///
    /// ```mlir
    /// device.fill %x with 0.5 on "compute"
    /// ```
    Fill = "device.fill" {
        operands: { dst: one(BUFFER) },
        attrs: { value: one(A::Number), stream: one(A::Str), name: optional(A::Str) },
        format: "$dst `with` $value `on` $stream (`name` $name^)? attr-dict",
        verify: verify::instruction,
    }

    /// Reads rows of a global input: `rows` of them from `first`, plus the device's coordinates times `strides`.
    ///
    /// ```mlir
    /// device.load_input "x" rows 2 from 2 strides {dp = 4} to %x on "compute" name "x.0"
    /// ```
    LoadInput = "device.load_input" {
        operands: { dst: one(BUFFER) },
        attrs: { input: one(A::Str), rows: one(COUNT), first: one(COUNT), strides: optional(COORDS), stream: one(A::Str), name: optional(A::Str) },
        format: "$input `rows` $rows `from` $first (`strides` $strides^)? `to` $dst `on` $stream (`name` $name^)? attr-dict",
        verify: verify::instruction,
    }

    /// Contributes to an output. `part` (plus the device's coordinates times `strides`) is the place of the contribution among all.
    ///
    /// ```mlir
    /// device.store_output %x to "loss" part 3 strides {dp = 2} on "compute"
    /// ```
    StoreOutput = "device.store_output" {
        operands: { src: one(BUFFER) },
        attrs: { output: one(A::Str), part: one(COUNT), strides: optional(COORDS), stream: one(A::Str), name: optional(A::Str) },
        format: "$src `to` $output `part` $part (`strides` $strides^)? `on` $stream (`name` $name^)? attr-dict",
        verify: verify::instruction,
    }

    /// Marks a point of a stream. Each event is recorded once.
    ///
    /// ```mlir
    /// device.fill %x with 0.5 on "compute"
    /// device.record 0 on "compute"
    /// device.wait 0 on "comm"
    /// device.send %x to {pp = 1} over @p2p on "comm"
    /// ```
    Record = "device.record" {
        attrs: { event: one(COUNT), stream: one(A::Str) },
        format: "$event `on` $stream attr-dict",
        verify: verify::instruction,
    }

    /// Holds a stream until an event that was recorded before, in order of issue.
    ///
    /// ```mlir
    /// device.fill %x with 0.5 on "compute"
    /// device.record 0 on "compute"
    /// device.wait 0 on "comm"
    /// device.send %x to {pp = 1} over @p2p on "comm"
    /// ```
    Wait = "device.wait" {
        attrs: { event: one(COUNT), stream: one(A::Str) },
        format: "$event `on` $stream attr-dict",
        verify: verify::instruction,
    }
}
