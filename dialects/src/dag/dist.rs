//! `!dag.dist`: a tensor with where it lives, how it is divided, and what it is still a partial sum over.
//!
//! `!dag.dist<tensor<16x128xf32>, @cluster on {mb = 3, pp = 0}, [{"dp", "mb"}, {}], partial = {"dp", mb[0:4]}>`
//!
//! - the **global** tensor;
//! - its **home**: coordinates on mesh axes it is confined to (a slice), with time coordinates (`mb`, the microbatch) beside
//!   them; or a group of slices, which is then an axis of its own;
//! - for every dimension the axes that shard it, major to minor. `mb` is such an axis: a value of microbatch 3 is the shard
//!   with time coordinate 3;
//! - **partial**: the axes it is a partial sum over, and the contributions it already holds ([`Held`]): of which microbatches and,
//!   for a parameter used in several segments, of which uses (`use 1/2 mb[0:4]`). None named means all of them.

use piper_ir::{
    Attr, AttrData, Context, Name, ParamDef, ParseResult, Parser, Printer, TokenKind, Type,
    TypeData,
};

/// The time axis that `split` shards over.
pub const MICROBATCH: &str = "mb";
/// Where a value lives.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Home {
    /// On the devices with these coordinates; axes not named are free. Sorted by axis name.
    Slice(Vec<(Name, i64)>),
    /// On every slice of a `strategy.group`.
    Group(Name),
}

/// The content of a `!dag.dist` type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Dist {
    /// The global tensor.
    pub tensor: Type,
    /// The mesh's symbol.
    pub mesh: Name,
    /// Where it lives.
    pub home: Home,
    /// For every dimension the axes that shard it, major to minor.
    pub dims: Vec<Vec<Name>>,
    /// Mesh axes and groups it is a partial sum over, sorted by name.
    pub partial: Vec<Name>,
    /// The contributions it holds; `None`: all.
    pub held: Option<Held>,
}

/// Contributions of the microbatches `lo..hi` of one use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub struct Part {
    pub index: i64,
    pub lo: i64,
    pub hi: i64,
}

/// The contributions a partial sum holds, of a parameter used `uses` times: disjoint, sorted, adjoining ones merged.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct Held {
    pub uses: i64,
    pub parts: Vec<Part>,
}

impl Held {
    /// One microbatch's contribution by one use.
    pub fn one(uses: i64, index: i64, microbatch: i64) -> Self {
        Self { uses, parts: vec![Part { index, lo: microbatch, hi: microbatch + 1 }] }
    }

    /// The union of two sets of contributions; `None` if it is all of them.
    ///
    /// # Errors
    /// A contribution that is in both would be counted twice.
    pub fn united(&self, other: &Held, microbatches: i64) -> Result<Option<Held>, String> {
        if self.uses != other.uses {
            return Err(format!(
                "contributions of {} use(s) cannot be united with those of {}",
                self.uses, other.uses
            ));
        }
        let mut parts = [&self.parts[..], &other.parts[..]].concat();
        parts.sort();
        let mut merged: Vec<Part> = Vec::with_capacity(parts.len());
        for part in parts {
            match merged.last_mut() {
                Some(last) if last.index == part.index && part.lo < last.hi => {
                    return Err(format!(
                        "the contribution of microbatch {} would be counted twice",
                        part.lo
                    ));
                }
                Some(last) if last.index == part.index && part.lo == last.hi => last.hi = part.hi,
                _ => merged.push(part),
            }
        }
        let all = merged.len() as i64 == self.uses
            && merged.iter().all(|p| p.lo == 0 && p.hi == microbatches);
        Ok((!all).then_some(Held { uses: self.uses, parts: merged }))
    }

    /// The contributions that are missing from all of `microbatches`.
    pub fn missing(&self, microbatches: i64) -> Vec<Part> {
        let mut missing = Vec::new();
        for index in 0..self.uses {
            let mut at = 0;
            for part in self.parts.iter().filter(|p| p.index == index) {
                if at < part.lo {
                    missing.push(Part { index, lo: at, hi: part.lo });
                }
                at = part.hi;
            }
            if at < microbatches {
                missing.push(Part { index, lo: at, hi: microbatches });
            }
        }
        missing
    }

    fn encode(&self) -> Vec<i64> {
        let mut words = vec![self.uses];
        words.extend(self.parts.iter().flat_map(|p| [p.index, p.lo, p.hi]));
        words
    }

    fn decode(words: &[i64]) -> Option<Self> {
        let (&uses, rest) = words.split_first()?;
        let (parts, []) = rest.as_chunks::<3>() else { return None };
        Some(Self {
            uses,
            parts: parts.iter().map(|&[index, lo, hi]| Part { index, lo, hi }).collect(),
        })
    }
}

impl std::fmt::Display for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, Part { index, lo, hi }) in self.parts.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            match self.uses {
                1 => write!(f, "{comma}mb[{lo}:{hi}]")?,
                uses => write!(f, "{comma}use {index}/{uses} mb[{lo}:{hi}]")?,
            }
        }
        Ok(())
    }
}

/// Sizes of the axes a distribution may name: mesh axes, groups and `mb`.
#[derive(Clone, Debug, Default)]
pub struct AxisSizes(pub Vec<(Name, i64)>);

impl AxisSizes {
    /// The axis's size.
    pub fn get(&self, axis: Name) -> Option<i64> {
        self.0.iter().find(|(name, _)| *name == axis).map(|(_, size)| *size)
    }
}

impl Dist {
    /// The full name of the type.
    pub const NAME: &'static str = "dag.dist";

    /// A whole value on every device of the mesh.
    pub fn everywhere(ctx: &Context, tensor: Type, mesh: Name) -> Self {
        let rank = tensor.as_tensor(ctx).map_or(0, |(shape, _)| shape.len());
        let (dims, partial) = (vec![Vec::new(); rank], Vec::new());
        Self { tensor, mesh, home: Home::Slice(Vec::new()), dims, partial, held: None }
    }

    /// The content of a type, if it is a `!dag.dist`.
    pub fn of(ctx: &Context, ty: Type) -> Option<Self> {
        let TypeData::Dialect { name, params } = ty.data(ctx) else { return None };
        if name.text(ctx) != Self::NAME {
            return None;
        }
        let [tensor, mesh, home, dims, partial, held] = params[..] else { return None };
        let names = |attr: Attr| -> Option<Vec<Name>> {
            attr.as_array(ctx)?.iter().map(|a| a.as_symbol(ctx)).collect()
        };
        Some(Self {
            tensor: tensor.as_type(ctx)?,
            mesh: mesh.as_symbol(ctx)?,
            home: match home.as_dict(ctx) {
                Some(entries) => Home::Slice(
                    entries
                        .iter()
                        .map(|(n, a)| Some((*n, a.as_int(ctx)?)))
                        .collect::<Option<_>>()?,
                ),
                None => Home::Group(home.as_symbol(ctx)?),
            },
            dims: dims.as_array(ctx)?.iter().map(|a| names(*a)).collect::<Option<_>>()?,
            partial: names(partial)?,
            held: held.as_int_array(ctx).and_then(Held::decode),
        })
    }

    /// The type with this content.
    pub fn ty(&self, ctx: &Context) -> Type {
        let names = |names: &[Name]| {
            ctx.array_attr(names.iter().map(|n| ctx.symbol_attr_of(*n)).collect::<Vec<_>>())
        };
        let home = match &self.home {
            Home::Slice(coords) => {
                ctx.dict_attr(coords.iter().map(|(n, c)| (*n, ctx.int_attr(*c))))
            }
            Home::Group(group) => ctx.symbol_attr_of(*group),
        };
        let mut partial = self.partial.clone();
        partial.sort_by_key(|n| n.text(ctx));
        let params = [
            ctx.type_attr(self.tensor),
            ctx.symbol_attr_of(self.mesh),
            home,
            ctx.array_attr(self.dims.iter().map(|d| names(d)).collect::<Vec<_>>()),
            names(&partial),
            self.held.as_ref().map_or(ctx.unit(), |held| ctx.int_array_attr(&held.encode())),
        ];
        ctx.ty(TypeData::Dialect { name: ctx.name(Self::NAME), params: params.into() })
    }

    /// The coordinate of the home on an axis, time axes included.
    pub fn coordinate(&self, axis: Name) -> Option<i64> {
        match &self.home {
            Home::Slice(coords) => coords.iter().find(|(name, _)| *name == axis).map(|(_, at)| *at),
            Home::Group(_) => None,
        }
    }

    /// The same value confined to a coordinate of an axis as well.
    pub fn at(mut self, ctx: &Context, axis: Name, coordinate: i64) -> Self {
        if let Home::Slice(coords) = &mut self.home {
            coords.retain(|(name, _)| *name != axis);
            coords.push((axis, coordinate));
            coords.sort_by_key(|(name, _)| name.text(ctx));
        }
        self
    }

    /// The home without time coordinates: the mesh slice.
    pub fn place(&self, ctx: &Context) -> Home {
        match &self.home {
            Home::Slice(coords) => Home::Slice(
                coords.iter().copied().filter(|(name, _)| name.text(ctx) != MICROBATCH).collect(),
            ),
            group => group.clone(),
        }
    }

    /// Whether every contribution is in it: nothing is left to be reduced, added or joined.
    pub fn is_complete(&self) -> bool {
        self.partial.is_empty() && self.held.is_none()
    }

    /// The tensor one device holds. `None` if an axis is unknown or does not divide its dimension.
    pub fn local(&self, ctx: &Context, sizes: &AxisSizes) -> Option<Type> {
        let (shape, element) = self.tensor.as_tensor(ctx)?;
        let mut local = Vec::with_capacity(shape.len());
        for (&size, axes) in shape.iter().zip(&self.dims) {
            let parts = axes.iter().try_fold(1, |n, axis| Some(n * sizes.get(*axis)?))?;
            if size % parts != 0 {
                return None;
            }
            local.push(size / parts);
        }
        Some(ctx.tensor(&local, element))
    }

    /// The axes that divide it, those of earlier dimensions first: what divides a flat tensor of the parts that devices hold,
    /// with the part of a device as one run of it.
    pub fn dividing(&self) -> Vec<Name> {
        self.dims.iter().flatten().copied().collect()
    }
}

/// The type's definition.
pub(super) fn definition() -> ParamDef {
    ParamDef::new(
        Dist::NAME,
        "A distributed tensor: global shape, home, shards, and what it is a partial sum over.",
        parse,
        print,
    )
}

fn parse(p: &mut Parser<'_>) -> ParseResult<Vec<Attr>> {
    let ctx = p.ctx();
    p.expect(TokenKind::Less, "'<'")?;
    let at = p.token().start;
    let tensor = p.parse_type()?;
    let Some((shape, _)) = tensor.as_tensor(ctx) else {
        return Err(p.error_at(at, "a distribution is of a ranked tensor"));
    };
    p.expect(TokenKind::Comma, "',' and the mesh")?;
    let mesh = p.parse_symbol_name()?;
    let mut dist = Dist::everywhere(ctx, tensor, mesh);
    if p.eat_keyword("on") {
        dist.home =
            if p.at(TokenKind::At) { Home::Group(p.parse_symbol_name()?) } else { parse_slice(p)? };
    }
    if p.eat(TokenKind::Comma) && !p.at_keyword("partial") {
        let at = p.token().start;
        p.expect(TokenKind::LSquare, "'[' and the axes of every dimension")?;
        let mut dims = Vec::new();
        p.comma_list(TokenKind::RSquare, "',' or ']'", |p| {
            p.expect(TokenKind::LBrace, "'{' and the axes of a dimension")?;
            let mut axes = Vec::new();
            p.comma_list(TokenKind::RBrace, "',' or '}'", |p| {
                axes.push(parse_axis(p)?);
                Ok(())
            })?;
            dims.push(axes);
            Ok(())
        })?;
        if dims.len() != shape.len() {
            let (rank, given) = (shape.len(), dims.len());
            return Err(p.error_at(
                at,
                format!("the tensor has {rank} dimension(s), but axes are given for {given}"),
            ));
        }
        dist.dims = dims;
        p.eat(TokenKind::Comma);
    }
    if p.eat_keyword("partial") {
        p.expect(TokenKind::Equal, "'='")?;
        p.expect(TokenKind::LBrace, "'{'")?;
        p.comma_list(TokenKind::RBrace, "',' or '}'", |p| {
            if p.at(TokenKind::String) || p.at(TokenKind::At) {
                let axis = parse_axis(p)?;
                dist.partial.push(axis);
                return Ok(());
            }
            let at = p.token().start;
            let part = parse_part(p)?;
            let one = Held { uses: part.0, parts: vec![part.1] };
            dist.held = match dist.held.take() {
                None => Some(one),
                Some(held) => match held.united(&one, i64::MAX) {
                    Ok(held) => held,
                    Err(why) => return Err(p.error_at(at, why)),
                },
            };
            Ok(())
        })?;
    }
    p.expect(TokenKind::Greater, "'>'")?;
    let TypeData::Dialect { params, .. } = dist.ty(ctx).data(ctx) else {
        unreachable!("a distribution is a dialect type")
    };
    Ok(params.to_vec())
}

/// Reads `mb[0:4]` or `use 1/2 mb[0:4]`: the number of uses, and which of them with which microbatches.
fn parse_part(p: &mut Parser<'_>) -> ParseResult<(i64, Part)> {
    let at = p.token().start;
    let (mut index, mut uses) = (0, 1);
    if p.eat_keyword("use") {
        index = p.parse_integer()?;
        p.expect(TokenKind::Slash, "'/' and the number of uses")?;
        uses = p.parse_integer()?;
    }
    p.expect_keyword(MICROBATCH)?;
    p.expect(TokenKind::LSquare, "'['")?;
    let lo = p.parse_integer()?;
    p.expect(TokenKind::Colon, "':'")?;
    let hi = p.parse_integer()?;
    p.expect(TokenKind::RSquare, "']'")?;
    if !(0 <= lo && lo < hi && 0 <= index && index < uses) {
        return Err(p.error_at(
            at,
            format!("use {index}/{uses} mb[{lo}:{hi}] is not a set of contributions"),
        ));
    }
    Ok((uses, Part { index, lo, hi }))
}

/// Reads `"axis"`, or `@group`.
fn parse_axis(p: &mut Parser<'_>) -> ParseResult<Name> {
    if p.at(TokenKind::At) {
        return p.parse_symbol_name();
    }
    let text = p.parse_string()?;
    Ok(p.ctx().name(&text))
}

/// Reads `{pp = 0, mb = 3}`.
fn parse_slice(p: &mut Parser<'_>) -> ParseResult<Home> {
    let at = p.token().start;
    let entries = p.parse_attr_dict()?;
    let ctx = p.ctx();
    let coords: Option<Vec<_>> =
        entries.iter().map(|(n, a)| Some((*n, a.as_int(ctx).filter(|c| *c >= 0)?))).collect();
    let Some(mut coords) = coords else {
        return Err(
            p.error_at(at, "a slice gives a coordinate for each axis it names, such as {pp = 0}")
        );
    };
    coords.sort_by_key(|(name, _)| name.text(ctx));
    Ok(Home::Slice(coords))
}

fn print(p: &mut Printer<'_>, params: &[Attr]) {
    let ctx = p.ctx();
    let ty = ctx.ty(TypeData::Dialect { name: ctx.name(Dist::NAME), params: params.into() });
    let Some(dist) = Dist::of(ctx, ty) else { return };
    p.text("<");
    p.ty(dist.tensor);
    p.text(", ");
    p.symbol(dist.mesh);
    match &dist.home {
        Home::Slice(coords) if coords.is_empty() => {}
        Home::Slice(coords) => {
            p.text(" on {");
            p.commas(coords, |p, (axis, at)| p.text(&format!("{} = {at}", axis.text(ctx))));
            p.text("}");
        }
        Home::Group(group) => {
            p.text(" on ");
            p.symbol(*group);
        }
    }
    if dist.dims.iter().any(|d| !d.is_empty()) {
        p.text(", [");
        p.commas(&dist.dims, |p, axes| {
            p.text("{");
            p.commas(axes, |p, axis| p.string(axis.text(ctx)));
            p.text("}");
        });
        p.text("]");
    }
    if !dist.is_complete() {
        let mut parts: Vec<String> =
            dist.partial.iter().map(|axis| format!("\"{}\"", axis.text(ctx))).collect();
        parts.extend(dist.held.iter().map(Held::to_string));
        p.text(&format!(", partial = {{{}}}", parts.join(", ")));
    }
    p.text(">");
}

/// Whether an attribute is a slice `{axis = coordinate}`.
pub fn is_slice(ctx: &Context, attr: Attr) -> bool {
    matches!(attr.data(ctx), AttrData::Dict(entries) if entries.iter().all(|(_, a)| a.as_int(ctx).is_some()))
}
