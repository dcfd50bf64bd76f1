//! Rewrites that the types allow never change the numbers: a random walk over legal graphs, with the interpreter as judge.
//!
//! A step of two stages with replicas on two axes, a parameter that both stages own, and any number of microbatches is
//! rewritten at random: collectives are split, merged and moved through sums, transfers and joins, sums are reordered,
//! values packed. Every graph must verify, and give the loss and gradients of the plain one in f64.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use piper_interp::dag::{Interpreter, Tensors};
use piper_interp::tensor::Tensor;
use piper_ir::text::parse_module;
use piper_ir::verify::verify;
use piper_ir::{Context, Reporter, SourceFile};
use piper_passes::{nodes::graphs, verify_dag};
use proptest::prelude::*;

/// Rows of the global batch.
const BATCH: usize = 16;
/// Width of everything.
const WIDTH: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Home {
    Stage(usize),
    Both,
}

/// Uses there are, and which of them with which microbatches (from, and before).
type Held = (usize, Vec<(usize, usize, usize)>);

/// A distribution.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Ty {
    shape: Vec<usize>,
    element: &'static str,
    home: Home,
    microbatch: Option<usize>,
    /// Axes of dimension 0.
    sharded: Vec<&'static str>,
    partial: BTreeSet<&'static str>,
    held: Option<Held>,
}

impl Ty {
    fn whole(shape: &[usize], home: Home) -> Self {
        let (shape, partial) = (shape.to_vec(), BTreeSet::new());
        Self { shape, element: "f64", home, microbatch: None, sharded: vec![], partial, held: None }
    }

    fn text(&self) -> String {
        let shape: String = self.shape.iter().map(|d| format!("{d}x")).collect();
        let mut text = format!("!dag.dist<tensor<{shape}{}>, @c on ", self.element);
        let mb = self.microbatch.map_or(String::new(), |mb| format!("mb = {mb}, "));
        match self.home {
            Home::Stage(pp) => text += &format!("{{{mb}pp = {pp}}}"),
            Home::Both => text += "@own",
        }
        if !self.sharded.is_empty() {
            let axes: Vec<String> = self.sharded.iter().map(|a| format!("\"{a}\"")).collect();
            text += &format!(", [{{{}}}{}]", axes.join(", "), ", {}".repeat(self.shape.len() - 1));
        }
        let mut parts: Vec<String> = self.partial.iter().map(|a| format!("\"{a}\"")).collect();
        if let Some((uses, held)) = &self.held {
            parts.extend(held.iter().map(|(use_, lo, hi)| match uses {
                1 => format!("mb[{lo}:{hi}]"),
                _ => format!("use {use_}/{uses} mb[{lo}:{hi}]"),
            }));
        }
        if !parts.is_empty() {
            text += &format!(", partial = {{{}}}", parts.join(", "));
        }
        text + ">"
    }
}

#[derive(Clone, PartialEq, Debug)]
enum What {
    Input(&'static str),
    Parameter(&'static str),
    Compute { callee: &'static str, kind: &'static str, stage: usize, microbatch: usize },
    Add,
    AllReduce(Vec<&'static str>),
    ReduceScatter(Vec<&'static str>),
    AllGather(Vec<&'static str>),
    Transfer,
    Join,
    Project,
    Pack(Vec<usize>),
    Unpack(Vec<usize>),
    Gradient(&'static str),
    Output,
}

type Value = (usize, usize);

#[derive(Clone, Debug)]
struct Node {
    what: What,
    args: Vec<Value>,
    types: Vec<Ty>,
}

#[derive(Clone, Debug)]
struct Graph {
    nodes: Vec<Node>,
    microbatches: usize,
}

impl Graph {
    fn ty(&self, value: Value) -> &Ty {
        &self.nodes[value.0].types[value.1]
    }

    fn push(&mut self, what: What, args: Vec<Value>, types: Vec<Ty>) -> Value {
        self.nodes.push(Node { what, args, types });
        (self.nodes.len() - 1, 0)
    }

    /// Adds an operation whose result follows from its operands.
    fn derive(&mut self, what: What, args: Vec<Value>) -> Value {
        let mut ty = self.ty(args[0]).clone();
        match &what {
            What::Add => ty.held = self.united(&args),
            What::AllReduce(axes) => ty.partial.retain(|a| !axes.contains(a)),
            What::ReduceScatter(axes) => {
                ty.partial.retain(|a| !axes.contains(a));
                ty.sharded.extend(axes);
            }
            What::AllGather(axes) => ty.sharded.truncate(ty.sharded.len() - axes.len()),
            What::Transfer => {
                ty.home = if ty.home == Home::Stage(0) { Home::Stage(1) } else { Home::Stage(0) };
            }
            What::Join => {
                if self.ty(args[0]).held != self.ty(args[1]).held {
                    ty.held = self.united(&args);
                }
                ty.home = Home::Both;
                ty.partial.insert("own");
            }
            _ => {}
        }
        self.push(what, args, vec![ty])
    }

    /// The contributions of several values together.
    fn united(&self, args: &[Value]) -> Option<Held> {
        let held: Vec<_> = args.iter().filter_map(|a| self.ty(*a).held.clone()).collect();
        let uses = held.first()?.0;
        let mut parts: Vec<_> = held.into_iter().flat_map(|h| h.1).collect();
        parts.sort_unstable();
        let mut merged: Vec<(usize, usize, usize)> = Vec::new();
        for (index, lo, hi) in parts {
            match merged.last_mut() {
                Some(last) if last.0 == index && last.2 == lo => last.2 = hi,
                _ => merged.push((index, lo, hi)),
            }
        }
        let is_all =
            merged.len() == uses && merged.iter().all(|p| p.1 == 0 && p.2 == self.microbatches);
        (!is_all).then_some((uses, merged))
    }

    /// The step itself, for so many microbatches.
    fn plain(microbatches: usize) -> Self {
        let mut g = Graph { nodes: Vec::new(), microbatches };
        let square = |home| Ty::whole(&[WIDTH, WIDTH], home);
        let (first, second) = (Home::Stage(0), Home::Stage(1));
        let wa = g.push(What::Parameter("wa"), vec![], vec![square(first)]);
        let wc = g.push(What::Parameter("wc"), vec![], vec![square(first)]);
        let wb = g.push(What::Parameter("wb"), vec![], vec![square(second)]);
        let u = g.push(What::Parameter("u"), vec![], vec![square(Home::Both)]);
        let u0 = g.push(What::Project, vec![u], vec![square(first)]);
        let u1 = g.push(What::Project, vec![u], vec![square(second)]);
        let part = |ty: Ty, held: (usize, usize), mb: usize| Ty {
            partial: ["x", "y"].into(),
            held: (held.0 > 1 || microbatches > 1).then(|| (held.0, vec![(held.1, mb, mb + 1)])),
            ..ty
        };
        let (mut losses, mut dwa, mut dwb, mut dwc) = (vec![], vec![], vec![], vec![]);
        let (mut du0, mut du1) = (vec![], vec![]);
        for mb in 0..microbatches {
            let batch = |shape: &[usize], element, home| Ty {
                element,
                microbatch: Some(mb),
                sharded: vec!["x", "y", "mb"],
                ..Ty::whole(shape, home)
            };
            let rows = |home| batch(&[BATCH, 1, WIDTH], "f64", home);
            let compute =
                |callee, kind, stage| What::Compute { callee, kind, stage, microbatch: mb };
            let x = g.push(What::Input("x"), vec![], vec![rows(first)]);
            let targets =
                g.push(What::Input("targets"), vec![], vec![batch(&[BATCH, 1], "i32", second)]);
            let h = g.push(compute("f0", "F", 0), vec![x, wa, wc, u0], vec![rows(first)]);
            let e = g.push(compute("e", "F", 2), vec![h], vec![rows(first)]);
            let t = g.derive(What::Transfer, vec![e]);
            let loss = part(Ty::whole(&[], second), (1, 0), mb);
            let (y, _) =
                g.push(compute("f1", "F", 1), vec![t, wb, u1, targets], vec![rows(second), loss]);
            losses.push((y, 1));
            let types = vec![
                rows(second),
                part(square(second), (1, 0), mb),
                part(square(second), (2, 1), mb),
            ];
            let (b, _) = g.push(compute("b1", "B", 1), vec![(y, 0), t, wb, u1, targets], types);
            dwb.push((b, 1));
            du1.push((b, 2));
            let dt = g.derive(What::Transfer, vec![(b, 0)]);
            let own = part(square(first), (1, 0), mb);
            let types = vec![own.clone(), own, part(square(first), (2, 0), mb)];
            let (b, _) = g.push(compute("b0", "B", 0), vec![x, dt, wa, wc, u0], types);
            dwa.push((b, 0));
            dwc.push((b, 1));
            du0.push((b, 2));
        }
        g.push(What::Output, losses, vec![]);
        let sum = |g: &mut Graph, parts: Vec<Value>| {
            parts.into_iter().reduce(|a, b| g.derive(What::Add, vec![a, b])).expect("not empty")
        };
        let (dwa, dwb, dwc) = (sum(&mut g, dwa), sum(&mut g, dwb), sum(&mut g, dwc));
        let (du0, du1) = (sum(&mut g, du0), sum(&mut g, du1));
        let du = g.derive(What::Join, vec![du0, du1]);
        for (name, value, axes) in [
            ("wa", dwa, vec!["x", "y"]),
            ("wb", dwb, vec!["x", "y"]),
            ("wc", dwc, vec!["x", "y"]),
            ("u", du, vec!["x", "y", "own"]),
        ] {
            let reduced = g.derive(What::AllReduce(axes), vec![value]);
            let ty = g.ty(reduced).clone();
            g.push(What::Gradient(name), vec![reduced], vec![ty]);
        }
        g
    }

    /// Makes every use of a value a use of another, but for those in the nodes from `keep` on.
    fn replace(&mut self, old: Value, new: Value, keep: usize) {
        for node in &mut self.nodes[..keep] {
            for arg in node.args.iter_mut().filter(|a| **a == old) {
                *arg = new;
            }
        }
    }

    /// Whether one value is made from another.
    fn needs(&self, value: Value, other: Value) -> bool {
        let mut stack = vec![value.0];
        let mut seen = BTreeSet::new();
        while let Some(at) = stack.pop() {
            if at == other.0 {
                return true;
            }
            if seen.insert(at) {
                stack.extend(self.nodes[at].args.iter().map(|a| a.0));
            }
        }
        false
    }

    /// Applies one rule at a node; whether it fitted. What is not used any more is left and not printed.
    fn rewrite(&mut self, at: usize, rule: usize) -> bool {
        let keep = self.nodes.len();
        let node = self.nodes[at].clone();
        let inner = |g: &Graph, k: usize| Some(g.nodes[node.args.get(k)?.0].clone());
        let new = match (&node.what, rule) {
            (What::AllReduce(axes), 0) => {
                let ty = self.ty(node.args[0]);
                let parts = 1 << axes.len();
                if !ty.sharded.is_empty() || ty.shape.first().is_none_or(|n| n % parts != 0) {
                    return false;
                }
                let shard = self.derive(What::ReduceScatter(axes.clone()), node.args.clone());
                self.derive(What::AllGather(axes.clone()), vec![shard])
            }
            (What::AllGather(axes), 0) => match inner(self, 0) {
                Some(Node { what: What::ReduceScatter(theirs), args, .. }) if theirs == *axes => {
                    self.derive(What::AllReduce(axes.clone()), args)
                }
                _ => return false,
            },
            // A collective over a sum is the sum of collectives.
            (What::AllReduce(_) | What::ReduceScatter(_) | What::Transfer, 1) => {
                match inner(self, 0) {
                    Some(Node { what: What::Add, args, .. }) => {
                        let parts: Vec<Value> = args
                            .into_iter()
                            .map(|a| self.derive(node.what.clone(), vec![a]))
                            .collect();
                        self.derive(What::Add, parts)
                    }
                    _ => return false,
                }
            }
            (What::Add, 2) => match (inner(self, 0), inner(self, 1)) {
                (Some(a), Some(b))
                    if a.what == b.what
                        && matches!(
                            a.what,
                            What::AllReduce(_) | What::ReduceScatter(_) | What::Transfer
                        ) =>
                {
                    let (x, y) = (self.ty(a.args[0]), self.ty(b.args[0]));
                    if (Ty { held: None, ..x.clone() }) != (Ty { held: None, ..y.clone() }) {
                        return false;
                    }
                    let sum = self.derive(What::Add, vec![a.args[0], b.args[0]]);
                    self.derive(a.what, vec![sum])
                }
                _ => return false,
            },
            (What::Add, 3) => match inner(self, 0) {
                Some(Node { what: What::Add, args, .. }) => {
                    let right = self.derive(What::Add, vec![args[1], node.args[1]]);
                    self.derive(What::Add, vec![args[0], right])
                }
                _ => return false,
            },
            (What::Add, 4) => self.derive(What::Add, vec![node.args[1], node.args[0]]),
            // There and back.
            (_, 5) if node.types.len() == 1 && !matches!(node.what, What::Gradient(_)) => {
                let ty = &node.types[0];
                if ty.home == Home::Both || ty.element != "f64" {
                    return false;
                }
                let there = self.derive(What::Transfer, vec![(at, 0)]);
                self.derive(What::Transfer, vec![there])
            }
            (What::Transfer, 6) => match inner(self, 0) {
                Some(Node { what: What::Transfer, args, .. }) => args[0],
                _ => return false,
            },
            (What::AllReduce(axes), 7) if axes.len() > 1 => {
                let first = self.derive(What::AllReduce(axes[..1].to_vec()), node.args.clone());
                self.derive(What::AllReduce(axes[1..].to_vec()), vec![first])
            }
            (What::ReduceScatter(axes), 7) if axes.len() > 1 => {
                let first = self.derive(What::ReduceScatter(axes[..1].to_vec()), node.args.clone());
                self.derive(What::ReduceScatter(axes[1..].to_vec()), vec![first])
            }
            (What::AllGather(axes), 7) if axes.len() > 1 => {
                let first = self.derive(What::AllGather(axes[1..].to_vec()), node.args.clone());
                self.derive(What::AllGather(axes[..1].to_vec()), vec![first])
            }
            (What::AllReduce(axes), 8) => match inner(self, 0) {
                Some(Node { what: What::AllReduce(theirs), args, .. }) => {
                    self.derive(What::AllReduce([theirs, axes.clone()].concat()), args)
                }
                _ => return false,
            },
            (What::ReduceScatter(axes), 8) => match inner(self, 0) {
                Some(Node { what: What::ReduceScatter(theirs), args, .. }) => {
                    self.derive(What::ReduceScatter([theirs, axes.clone()].concat()), args)
                }
                _ => return false,
            },
            (What::AllReduce(axes), 9) if axes.len() > 1 => {
                let turned = [&axes[1..], &axes[..1]].concat();
                self.derive(What::AllReduce(turned), node.args.clone())
            }
            // Transfers go past whatever works on each device alone or within a slice.
            (What::Transfer, 10) => match inner(self, 0) {
                Some(Node { what, args, .. })
                    if matches!(
                        what,
                        What::AllReduce(_)
                            | What::ReduceScatter(_)
                            | What::AllGather(_)
                            | What::Compute { callee: "e", .. }
                    ) =>
                {
                    let moved = self.derive(What::Transfer, args);
                    self.derive(what, vec![moved])
                }
                _ => return false,
            },
            (
                What::AllReduce(_)
                | What::ReduceScatter(_)
                | What::AllGather(_)
                | What::Compute { callee: "e", .. },
                10,
            ) => match inner(self, 0) {
                Some(Node { what: What::Transfer, args, .. }) => {
                    let made = self.derive(node.what.clone(), args);
                    self.derive(What::Transfer, vec![made])
                }
                _ => return false,
            },
            (What::AllReduce(axes), 11) if !axes.contains(&"own") => match inner(self, 0) {
                Some(Node { what: What::Join, args, .. }) => {
                    let parts =
                        args.into_iter().map(|a| self.derive(node.what.clone(), vec![a])).collect();
                    self.derive(What::Join, parts)
                }
                _ => return false,
            },
            (What::Join, 11) => match (inner(self, 0), inner(self, 1)) {
                (Some(a), Some(b)) if a.what == b.what && matches!(a.what, What::AllReduce(_)) => {
                    let (x, y) = (self.ty(a.args[0]), self.ty(b.args[0]));
                    if x.partial != y.partial {
                        return false;
                    }
                    let joined = self.derive(What::Join, vec![a.args[0], b.args[0]]);
                    self.derive(a.what, vec![joined])
                }
                _ => return false,
            },
            // Two reductions are one of a flat bucket.
            (What::AllReduce(axes), 12) => {
                let ty = self.ty(node.args[0]).clone();
                let other = (0..keep).find(|&k| {
                    k != at
                        && self.nodes[k].what == node.what
                        && *self.ty(self.nodes[k].args[0]) == ty
                        && self.is_used((k, 0))
                        && !self.needs((k, 0), (at, 0))
                        && !self.needs((at, 0), (k, 0))
                });
                let (Some(other), false) = (other, ty.shape.is_empty()) else { return false };
                if !ty.sharded.is_empty() || ty.microbatch.is_some() {
                    return false;
                }
                let size: usize = ty.shape.iter().product();
                let flat = Ty { shape: vec![2 * size + 4], ..ty };
                let offsets = vec![0, size + 2];
                let args = vec![node.args[0], self.nodes[other].args[0]];
                let packed = self.push(What::Pack(offsets.clone()), args, vec![flat]);
                let sum = self.derive(What::AllReduce(axes.clone()), vec![packed]);
                let types = vec![node.types[0].clone(), node.types[0].clone()];
                let parts = self.push(What::Unpack(offsets), vec![sum], types);
                self.replace((other, 0), (parts.0, 1), keep);
                parts
            }
            _ => return false,
        };
        self.replace((at, 0), new, keep);
        true
    }

    fn is_used(&self, value: Value) -> bool {
        self.live().iter().any(|&at| self.nodes[at].args.contains(&value))
    }

    /// Nodes that something is reported of, each after those it uses.
    fn live(&self) -> Vec<usize> {
        let mut order = Vec::new();
        let mut state = vec![0u8; self.nodes.len()];
        let roots = (0..self.nodes.len())
            .filter(|&at| matches!(self.nodes[at].what, What::Gradient(_) | What::Output));
        for root in roots {
            let mut stack = vec![root];
            while let Some(&at) = stack.last() {
                let waiting: Vec<usize> =
                    self.nodes[at].args.iter().map(|a| a.0).filter(|a| state[*a] == 0).collect();
                if waiting.is_empty() {
                    stack.pop();
                    if state[at] == 0 {
                        state[at] = 1;
                        order.push(at);
                    }
                } else {
                    stack.extend(waiting);
                }
            }
        }
        order
    }

    fn text(&self) -> String {
        let n = BATCH / 4 / self.microbatches;
        let (x, w, t) = (
            format!("tensor<{n}x1x{WIDTH}xf64>"),
            format!("tensor<{WIDTH}x{WIDTH}xf64>"),
            format!("tensor<{n}x1xi32>"),
        );
        let linear = format!("({x}, {w}) -> {x}");
        let dw = format!("({x}, {x}) -> {w}");
        let mut out = format!(
            "strategy.mesh @c <[\"pp\" = 2, \"x\" = 2, \"y\" = 2]>
strategy.group @own on @c [{{pp = 0}}, {{pp = 1}}]
func.func private @loss()
func.func private @f0(%x: {x}, %w: {w}, %v: {w}, %u: {w}) -> {x} {{
  %g = nn.linear %x, %w : {linear}
  %h = nn.linear %g, %v : {linear}
  %y = nn.linear %h, %u : {linear}
  func.return %y : {x}
}}
func.func private @e(%x: {x}) -> {x} {{
  %y = nn.gelu %x : {x}
  func.return %y : {x}
}}
func.func private @f1(%x: {x}, %w: {w}, %u: {w}, %t: {t}) -> ({x}, tensor<f64>) {{
  %h = nn.linear %x, %w : {linear}
  %y = nn.linear %h, %u : {linear}
  %l = nn.cross_entropy %y, %t {{denominator = {BATCH}}} : ({x}, {t}) -> tensor<f64>
  func.return %y, %l : {x}, tensor<f64>
}}
func.func private @b1(%y: {x}, %x: {x}, %w: {w}, %u: {w}, %t: {t}) -> ({x}, {w}, {w}) {{
  %one = nn.constant {{value = 1.0}} : tensor<f64>
  %dy = nn.cross_entropy_dx %y, %t, %one {{denominator = {BATCH}}} : ({x}, {t}, tensor<f64>) -> {x}
  %h = nn.linear %x, %w : {linear}
  %du = nn.linear_dw %h, %dy : {dw}
  %dh = nn.linear_dx %dy, %u : {linear}
  %dw = nn.linear_dw %x, %dh : {dw}
  %dx = nn.linear_dx %dh, %w : {linear}
  func.return %dx, %dw, %du : {x}, {w}, {w}
}}
func.func private @b0(%x: {x}, %dy: {x}, %w: {w}, %v: {w}, %u: {w}) -> ({w}, {w}, {w}) {{
  %g = nn.linear %x, %w : {linear}
  %h = nn.linear %g, %v : {linear}
  %du = nn.linear_dw %h, %dy : {dw}
  %dh = nn.linear_dx %dy, %u : {linear}
  %dv = nn.linear_dw %g, %dh : {dw}
  %dg = nn.linear_dx %dh, %v : {linear}
  %dw = nn.linear_dw %x, %dg : {dw}
  func.return %dw, %dv, %du : {w}, {w}, {w}
}}
dag.graph @step of @loss on @c microbatches {} {{\n",
            self.microbatches
        );
        let live = self.live();
        let mut emitted = 0;
        for &at in &live {
            let node = &self.nodes[at];
            let args: Vec<String> = node.args.iter().map(|a| self.name(*a)).collect();
            let args = args.join(", ");
            let types: Vec<String> = node.types.iter().map(Ty::text).collect();
            let result = match types.len() {
                0 => String::new(),
                1 => format!("%v{at} = "),
                n => format!("%v{at}:{n} = "),
            };
            let axes = |axes: &[&str]| {
                let names: Vec<String> = axes
                    .iter()
                    .map(|a| if *a == "own" { "@own".to_owned() } else { format!("\"{a}\"") })
                    .collect();
                names.join(", ")
            };
            let body = match &node.what {
                What::Input(name) => format!("dag.input \"{name}\" : {}", types[0]),
                What::Parameter(name) => format!(
                    "dag.parameter \"{name}\" {{init = #nn.init<normal<0.0, 0.5>>}} : {}",
                    types[0]
                ),
                What::Compute { callee, kind, stage, microbatch } => {
                    emitted += 1;
                    format!(
                        "dag.compute @{callee}({args}) {kind} {{MB = {microbatch}, PP = {stage}}} node \"n{emitted}\" -> ({})",
                        types.join(", ")
                    )
                }
                What::Add => format!("dag.add {args} -> {}", types[0]),
                What::AllReduce(a) => {
                    format!("dag.all_reduce {args} over [{}] -> {}", axes(a), types[0])
                }
                What::ReduceScatter(a) => {
                    format!("dag.reduce_scatter {args} over [{}] -> {}", axes(a), types[0])
                }
                What::AllGather(a) => {
                    format!("dag.all_gather {args} over [{}] -> {}", axes(a), types[0])
                }
                What::Transfer => format!("dag.transfer {args} -> {}", types[0]),
                What::Join => format!("dag.join {args} -> {}", types[0]),
                What::Project => format!("dag.project {args} -> {}", types[0]),
                What::Pack(at) => {
                    format!("dag.pack {args} at array<i64: {}> -> {}", list(at), types[0])
                }
                What::Unpack(at) => {
                    format!(
                        "dag.unpack {args} at array<i64: {}> -> ({})",
                        list(at),
                        types.join(", ")
                    )
                }
                What::Gradient(name) => format!("dag.gradient \"{name}\" {args} -> {}", types[0]),
                What::Output => {
                    let of: Vec<String> = node.args.iter().map(|a| self.ty(*a).text()).collect();
                    format!("dag.output \"loss\" {args} : {}", of.join(", "))
                }
            };
            let _ = writeln!(out, "  {result}{body}");
        }
        out + "}\n"
    }

    fn name(&self, value: Value) -> String {
        match self.nodes[value.0].types.len() {
            1 => format!("%v{}", value.0),
            _ => format!("%v{}#{}", value.0, value.1),
        }
    }
}

fn list(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// Loss and gradients of a graph, or why there are none.
fn numbers(text: &str) -> Result<Vec<f64>, String> {
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let source = SourceFile::new("graph", text);
    let mut reporter = Reporter::new(&ctx);
    let module = parse_module(&ctx, &source, &mut reporter).filter(|m| verify(m, &mut reporter));
    let messages = |reporter: &Reporter<'_>| {
        reporter.diagnostics().iter().map(|d| d.message.clone()).collect::<Vec<_>>().join("\n")
    };
    let Some(module) = module else { return Err(messages(&reporter)) };
    let graph = graphs(&module)[0];
    if !verify_dag::verify(&module, graph, &mut reporter) {
        return Err(messages(&reporter));
    }
    let fail = |e: piper_interp::dag::Error| e.message;
    let interpreter = Interpreter::new(&module, graph).map_err(fail)?;
    let x = (0..BATCH * WIDTH).map(|i| ((i * 37 % 61) as f64 - 30.0) / 17.0).collect();
    let targets = (0..BATCH).map(|i| (i * 5 % WIDTH) as i32).collect();
    let data: Tensors = [
        ("x".to_owned(), Tensor::new::<f64>([BATCH, 1, WIDTH], x).expect("its shape")),
        ("targets".to_owned(), Tensor::new::<i32>([BATCH, 1], targets).expect("its shape")),
    ]
    .into();
    let state = interpreter.initial_state().map_err(fail)?;
    let step = interpreter.step(&data, &state, 1).map_err(fail)?;
    let gradients = step.gradients.values().flat_map(Tensor::to_f64);
    Ok(step.outputs.values().copied().chain(gradients).collect())
}

fn reference() -> &'static [f64] {
    static REFERENCE: OnceLock<Vec<f64>> = OnceLock::new();
    REFERENCE.get_or_init(|| numbers(&Graph::plain(1).text()).expect("the plain graph is right"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn legal_rewrites_keep_the_numbers(
        split in 0usize..3,
        steps in prop::collection::vec((any::<prop::sample::Index>(), 0usize..13), 1..60),
    ) {
        let mut graph = Graph::plain(1 << split);
        for (at, rule) in steps {
            let live = graph.live();
            let from = at.index(live.len());
            // Most rules fit few nodes: take the next one that it fits.
            for k in 0..live.len() {
                if graph.rewrite(live[(from + k) % live.len()], rule) {
                    break;
                }
            }
        }
        let text = graph.text();
        match numbers(&text) {
            Err(why) => prop_assert!(false, "{why}\n{text}"),
            Ok(found) => {
                prop_assert_eq!(found.len(), reference().len());
                for (a, b) in found.iter().zip(reference()) {
                    prop_assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} is not {b}\n{text}");
                }
            }
        }
    }
}

/// A walk says something only if every rule is used.
#[test]
fn every_rule_fits_somewhere() {
    for rule in 0..13 {
        let found = (0..3).any(|split| {
            let plain = Graph::plain(1 << split);
            let mut all = vec![plain.clone()];
            // Rules that undo others need those first.
            for first in 0..13 {
                let mut graph = plain.clone();
                for at in graph.live() {
                    graph.rewrite(at, first);
                }
                all.push(graph);
            }
            all.into_iter()
                .any(|mut graph| graph.live().into_iter().any(|at| graph.rewrite(at, rule)))
        });
        assert!(found, "rule {rule} fits nowhere");
    }
}
