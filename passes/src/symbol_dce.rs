//! `symbol-dce`: symbols that nobody can name any more go.
//!
//! A symbol is needed if it can be named from outside (it is public, or `nested` in a table that can be), or if something
//! needed names it: in an attribute, at any depth, or in a type. What is left over is erased, with everything in it.
//!
//! ```mlir
//! // before
//! func.func private @unused() { func.return }
//! func.func private @used() { func.return }
//! func.func @main() { func.call @used() : () -> ()  func.return }
//! // after
//! func.func private @used() { func.return }
//! func.func @main() { func.call @used() : () -> ()  func.return }
//! ```

use piper_ir::pass::{PassFailed, PassInfo};
use piper_ir::{Attr, AttrData, Module, Name, Op, Trait, Type, TypeData};
use rustc_hash::{FxHashMap, FxHashSet};

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let info = PassInfo::from_fn("symbol-dce", "Erase symbols that nobody can name", |cx| {
        if !cx.module.has_trait(cx.op, Trait::SymbolTable) {
            let name = cx.module.name_text(cx.op).to_owned();
            let loc = cx.module.op_loc(cx.op);
            cx.reporter
                .error(loc, format!("symbol-dce works on a symbol table, which '{name}' is not"));
            return Err(PassFailed);
        }
        let erased = run(cx.module, cx.op, |_, _| true);
        cx.count("num-dce'd", erased);
        Ok(())
    });
    vec![
        info.describe(
            "Erases private symbols that no needed operation refers to. Works on an operation that is a symbol table.",
        )
        .anchored(None),
    ]
}

/// Erases the symbols under `root` that nobody can name and `may_go` accepts. Returns how many.
pub fn run(module: &mut Module, root: Op, may_go: impl Fn(&Module, Op) -> bool) -> u64 {
    let dead: Vec<Op> = {
        let mut search = Search::new(module, &may_go);
        // Whether the root can be named from outside is only known of one that stands somewhere.
        let is_hidden = module.parent_op(root).is_none()
            || !module.has_trait(root, Trait::Symbol)
            || visibility(module, root) == "private";
        search.enter(root, is_hidden);
        search.finish();
        let Search { candidates, live, .. } = search;
        candidates.into_iter().filter(|op| !live.contains(op)).collect()
    };
    let count = dead.len() as u64;
    // Inner ones come after those around them.
    for op in dead.into_iter().rev() {
        module.erase(op);
    }
    count
}

fn visibility(module: &Module, op: Op) -> &str {
    module
        .attr_by(op, "sym_visibility")
        .and_then(|attr| attr.as_str(module.ctx()))
        .unwrap_or("public")
}

struct Search<'m> {
    module: &'m Module,
    may_go: &'m dyn Fn(&Module, Op) -> bool,
    /// Symbols that go unless something needed names them, outer ones first.
    candidates: Vec<Op>,
    live: FxHashSet<Op>,
    /// Operations whose inside is to be searched, with whether their table is hidden.
    pending: Vec<(Op, bool)>,
    /// The symbols each attribute names: root and path.
    named: FxHashMap<Attr, Vec<Attr>>,
    /// Whether the table around a candidate is hidden.
    hidden: FxHashMap<Op, bool>,
}

impl<'m> Search<'m> {
    fn new(module: &'m Module, may_go: &'m dyn Fn(&Module, Op) -> bool) -> Self {
        Self {
            module,
            may_go,
            candidates: Vec::new(),
            live: FxHashSet::default(),
            pending: Vec::new(),
            named: FxHashMap::default(),
            hidden: FxHashMap::default(),
        }
    }

    /// Searches what is directly inside an operation that is needed.
    fn enter(&mut self, op: Op, is_hidden: bool) {
        let module = self.module;
        let is_table = module.has_trait(op, Trait::SymbolTable);
        let blocks = module.regions(op).iter().flat_map(|region| module.blocks(*region));
        for inner in blocks.flat_map(|block| module.ops(block)) {
            let is_symbol = is_table && module.symbol_name(inner).is_some();
            let discardable = is_symbol
                && match visibility(module, inner) {
                    "private" => true,
                    "nested" => is_hidden,
                    _ => false,
                }
                && (self.may_go)(module, inner);
            let inner_hidden = is_hidden || (is_symbol && visibility(module, inner) == "private");
            if discardable {
                self.candidates.push(inner);
                self.hidden.insert(inner, inner_hidden);
                // It may have been named before its table was entered.
                if self.live.contains(&inner) {
                    self.pending.push((inner, inner_hidden));
                }
            } else {
                self.pending.push((inner, inner_hidden));
            }
        }
    }

    fn finish(&mut self) {
        while let Some((op, is_hidden)) = self.pending.pop() {
            self.references(op);
            self.enter(op, is_hidden);
        }
    }

    /// Marks what a needed operation names.
    fn references(&mut self, op: Op) {
        let module = self.module;
        let ctx = module.ctx();
        let declared = module.declared(op).map(|(_, attr)| attr);
        let mut roots: Vec<Attr> =
            declared.chain(module.discardable(op).map(|(_, attr)| attr)).collect();
        let blocks = module.regions(op).iter().flat_map(|region| module.blocks(*region));
        let args = blocks.flat_map(|block| module.args(block)).copied();
        for value in module.results(op).chain(args) {
            attrs_of_type(module, module.ty(value), &mut roots);
        }
        for attr in roots {
            let named = self.named_in(attr);
            for symbol in named {
                let AttrData::Symbol { root, nested } = symbol.data(ctx) else { continue };
                self.mark(op, *root, nested);
            }
        }
    }

    /// The symbol references in an attribute.
    fn named_in(&mut self, attr: Attr) -> Vec<Attr> {
        if let Some(known) = self.named.get(&attr) {
            return known.clone();
        }
        let ctx = self.module.ctx();
        let (mut found, mut pending) = (Vec::new(), vec![attr]);
        let mut seen: FxHashSet<Attr> = FxHashSet::default();
        while let Some(attr) = pending.pop() {
            if !seen.insert(attr) {
                continue;
            }
            match attr.data(ctx) {
                AttrData::Symbol { .. } => found.push(attr),
                AttrData::Array(items) => pending.extend(items),
                AttrData::Dict(entries) => pending.extend(entries.iter().map(|(_, attr)| *attr)),
                AttrData::Dialect { params, .. } => pending.extend(params),
                AttrData::Type(ty) => attrs_of_type(self.module, *ty, &mut pending),
                _ => {}
            }
        }
        self.named.insert(attr, found.clone());
        found
    }

    /// Marks the symbols on a path, as seen from an operation.
    fn mark(&mut self, from: Op, root: Name, nested: &[Name]) {
        let module = self.module;
        let mut at = Some(from);
        while let Some(op) = at {
            if module.has_trait(op, Trait::SymbolTable)
                && let Some(mut found) = module.lookup(op, root.text(module.ctx()))
            {
                self.need(found);
                for &name in nested {
                    let Some(inner) = module.lookup(found, name.text(module.ctx())) else { return };
                    self.need(inner);
                    found = inner;
                }
                return;
            }
            at = module.parent_op(op);
        }
    }

    fn need(&mut self, symbol: Op) {
        if self.live.insert(symbol)
            && let Some(&is_hidden) = self.hidden.get(&symbol)
        {
            self.pending.push((symbol, is_hidden));
        }
    }
}

/// The attributes that a type holds, at any depth.
fn attrs_of_type(module: &Module, ty: Type, found: &mut Vec<Attr>) {
    let mut pending = vec![ty];
    while let Some(ty) = pending.pop() {
        match ty.data(module.ctx()) {
            TypeData::Tensor { element, encoding, .. } => {
                pending.push(*element);
                found.extend(*encoding);
            }
            TypeData::MemRef { element, layout, space, .. } => {
                pending.push(*element);
                found.extend(layout.iter().chain(space));
            }
            TypeData::Function { inputs, results } => pending.extend(inputs.iter().chain(results)),
            TypeData::Tuple(parts) => pending.extend(parts),
            TypeData::Dialect { params, .. } => found.extend(params),
            _ => {}
        }
    }
}
