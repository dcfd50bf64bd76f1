//! What is launched, as a table a person can read.

use std::fmt::Write;

use piper_dialects::{device, kernel};
use piper_ir::interfaces::cost::bytes as size;
use piper_ir::{Module, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Kinds of kernels that pass over memory and compute little: what more fusion could save.
const ELEMENTWISE: [&str; 4] = ["map", "rotary", "cast", "swap_blocks"];

/// A table of the kernels of a module: how often each is launched (in device programs if there are any, else in functions),
/// operations and bytes of one launch, and operations a byte (the arithmetic intensity); what is fused in the last column. Rows
/// of sums follow: of all launches, of those that are elementwise and, of functions, the bytes that an earlier launch of the same
/// function had read already.
pub fn of(module: &Module) -> String {
    let ctx = module.ctx();
    let mut in_programs: FxHashMap<&str, usize> = FxHashMap::default();
    let mut in_functions: FxHashMap<&str, usize> = FxHashMap::default();
    for op in module.walk(module.root()) {
        let counts = match module.name_text(op) {
            device::Launch::NAME => &mut in_programs,
            kernel::Launch::NAME => &mut in_functions,
            _ => continue,
        };
        if let Some(name) = module.attr_by(op, "callee").and_then(|c| c.as_symbol(ctx)) {
            *counts.entry(name.text(ctx)).or_default() += 1;
        }
    }
    let is_of_functions = in_programs.is_empty();
    let counts = if is_of_functions { in_functions } else { in_programs };
    let header = ["kernel", "launches", "flops", "bytes", "flops/byte", "fused"].map(str::to_owned);
    let mut rows = vec![header];
    let mut totals = [[0u64; 3]; 2];
    for op in module.walk(module.root()) {
        let Some(name) = module.symbol_name(op) else { continue };
        let launches = counts.get(name).copied().unwrap_or(0) as u64;
        if kernel::Func::cast(module, op).is_some() {
            let number = |attr: &str| {
                let value = module.attr_by(op, attr).and_then(|a| a.as_int(ctx));
                value.map_or(0, |v| u64::try_from(v).unwrap_or(0))
            };
            let (flops, bytes) = (number("flops"), number("bytes"));
            let kind = module.attr_by(op, "kind").and_then(|kind| kind.as_str(ctx));
            let is_elementwise = kind.is_some_and(|kind| ELEMENTWISE.contains(&kind));
            for total in &mut totals[..1 + usize::from(is_elementwise)] {
                let more = [launches, launches * flops, launches * bytes];
                total.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            }
            rows.push(row(name, launches, Some((flops, bytes)), fused(module, op)));
        } else if device::Kernel::cast(module, op).is_some() {
            let kind = device::Kernel(op).kernel(module).as_str(ctx).unwrap_or("").to_owned();
            totals[0][0] += launches;
            rows.push(row(name, launches, None, format!("built in: {kind}")));
        }
    }
    for (name, [launches, flops, bytes]) in ["total", "elementwise"].into_iter().zip(totals) {
        rows.push(row(name, launches, Some((flops, bytes)), String::new()));
    }
    if is_of_functions {
        let mut again = row("read again", 0, None, String::new());
        (again[1], again[3]) = ("-".into(), read_again(module).to_string());
        rows.push(again);
    }
    render(&rows)
}

/// Bytes of values that launches of functions read, but for the first launch that reads each.
fn read_again(module: &Module) -> u64 {
    let mut seen = FxHashSet::default();
    let mut bytes = 0;
    for op in module.walk(module.root()).filter(|op| kernel::Launch::cast(module, *op).is_some()) {
        let operands: FxHashSet<Value> = module.operands(op).collect();
        bytes +=
            operands.into_iter().filter(|v| !seen.insert(*v)).map(|v| size(module, v)).sum::<u64>();
    }
    bytes
}

fn row(name: &str, launches: u64, cost: Option<(u64, u64)>, fused: String) -> [String; 6] {
    let cell = |value: Option<u64>| value.map_or("-".to_owned(), |v| v.to_string());
    let intensity =
        cost.filter(|(_, bytes)| *bytes > 0).map(|(flops, bytes)| flops as f64 / bytes as f64);
    [
        name.to_owned(),
        launches.to_string(),
        cell(cost.map(|c| c.0)),
        cell(cost.map(|c| c.1)),
        intensity.map_or("-".to_owned(), |i| format!("{i:.2}")),
        fused,
    ]
}

/// The operations of a kernel, such as `linear gelu`.
fn fused(module: &Module, op: Op) -> String {
    let ops = kernel::Func(op).fused(module);
    let names = ops.iter().map(|op| module.name_text(*op));
    names.map(|name| name.strip_prefix("nn.").unwrap_or(name)).collect::<Vec<_>>().join(" ")
}

/// Columns of equal width; numbers to the right.
fn render(rows: &[[String; 6]]) -> String {
    let widths: [usize; 6] =
        std::array::from_fn(|c| rows.iter().map(|r| r[c].len()).max().unwrap_or(0));
    let mut text = String::new();
    for row in rows {
        let mut line = format!("{:<1$}", row[0], widths[0]);
        for c in 1..5 {
            let _ = write!(line, "  {:>1$}", row[c], widths[c]);
        }
        let _ = write!(line, "  {}", row[5]);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}
