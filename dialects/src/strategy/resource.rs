//! `resource stream "a2a" for exchange over "ep"`, `resource partition "comm" arch = "sm_90" sms = 24 streams = ["a2a"]`,
//! `resource interleave over "ep"`, and the shares of `sm_partition`.

use piper_ir::text::Failed;
use piper_ir::{Attr, AttrData, Context, Module, Op, ParseResult, Parser, Printer, TokenKind};
use piper_schedule::text::filter::Filter;

use super::{ResourceOp, filter, filter_of};

/// What may be put on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// Compute nodes.
    Compute,
    /// Transfers between slices, both sides.
    Transfer,
    /// Collectives between compute nodes: of activations and their gradients.
    Exchange,
    /// All-to-alls.
    AllToAll,
    /// All-reduces.
    AllReduce,
    /// Reduce-scatters.
    ReduceScatter,
    /// All-gathers.
    AllGather,
}

impl Work {
    /// All kinds.
    pub const ALL: [Work; 7] = [
        Work::Compute,
        Work::Transfer,
        Work::Exchange,
        Work::AllToAll,
        Work::AllReduce,
        Work::ReduceScatter,
        Work::AllGather,
    ];

    /// How it is written.
    pub fn name(self) -> &'static str {
        match self {
            Work::Compute => "compute",
            Work::Transfer => "transfer",
            Work::Exchange => "exchange",
            Work::AllToAll => "all_to_all",
            Work::AllReduce => "all_reduce",
            Work::ReduceScatter => "reduce_scatter",
            Work::AllGather => "all_gather",
        }
    }

    /// The kind of this spelling.
    pub fn named(name: &str) -> Option<Work> {
        Self::ALL.into_iter().find(|work| work.name() == name)
    }
}

/// What goes to a stream: work of these kinds, over this axis if one is named, of what the filter selects.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamSpec {
    /// The stream's name.
    pub stream: String,
    /// Which work.
    pub work: Vec<Work>,
    /// Only collectives over this axis, or transfers along it.
    pub over: Option<String>,
    /// Only compute nodes that it selects.
    pub filter: Option<Filter>,
}

/// How a partition is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Multiprocessors set aside by the driver (green contexts), in the granularity of the architecture.
    Green,
    /// Persistent grids of so many blocks: any number, kept by the kernels themselves.
    Grid,
    /// Worker threads of a CPU.
    Workers,
}

impl Method {
    /// How it is written.
    pub fn name(self) -> &'static str {
        match self {
            Method::Green => "green",
            Method::Grid => "grid",
            Method::Workers => "workers",
        }
    }
}

/// A part of a device's multiprocessors (or workers) with the streams that run on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionSpec {
    /// Its name.
    pub name: String,
    /// How it is made.
    pub method: Method,
    /// Multiprocessors, blocks or workers.
    pub size: u32,
    /// How many the device has; what is known of the architecture if not written.
    pub total: Option<u32>,
    /// The architecture, such as `sm_90` or `cpu`.
    pub arch: String,
    /// The streams.
    pub streams: Vec<String>,
    /// Fewest and most CTAs of its communicators.
    pub ctas: Option<(u32, u32)>,
    /// The version of NCCL, major and minor, whose limits hold.
    pub nccl: Option<(u32, u32)>,
}

/// How multiprocessors may be divided.
pub(super) const METHODS: &[&str] = &["green", "grid"];

/// The options of a partition that are written `name = value`, in the order in which they are printed.
pub(super) const OPTIONS: &[&str] =
    &["arch", "comm", "sms", "workers", "streams", "ctas", "min_ctas", "nccl", "method", "total"];

/// What a `resource stream` (or its record in a graph) says; `None` if it is none.
pub fn stream_of(ctx: &Context, get: impl Fn(&str) -> Option<Attr>) -> Option<StreamSpec> {
    let work = get("work")?.as_array(ctx)?.iter().map(|work| Work::named(work.as_str(ctx)?));
    Some(StreamSpec {
        stream: get("stream")?.as_str(ctx)?.to_owned(),
        work: work.collect::<Option<_>>()?,
        over: match get("over") {
            None => None,
            Some(axis) => Some(axis.as_str(ctx)?.to_owned()),
        },
        filter: match get("filter") {
            None => None,
            Some(filter) => Some(filter_of(ctx, filter)?),
        },
    })
}

/// What a `resource partition` (or its record in a graph) says; `None` if it is none.
pub fn partition_of(ctx: &Context, get: impl Fn(&str) -> Option<Attr>) -> Option<PartitionSpec> {
    let number = |name: &str| u32::try_from(get(name)?.as_int(ctx)?).ok();
    let text = |name: &str| Some(get(name)?.as_str(ctx)?.to_owned());
    let arch = text("arch")?;
    let (method, size) = match number("workers") {
        Some(workers) => (Method::Workers, workers),
        None => match get("method").and_then(|m| m.as_str(ctx)) {
            Some("grid") => (Method::Grid, number("sms")?),
            _ => (Method::Green, number("sms")?),
        },
    };
    let streams = get("streams")?.as_array(ctx)?.iter();
    let most = number("ctas");
    Some(PartitionSpec {
        name: text("partition")?,
        method,
        size,
        total: number("total"),
        arch,
        streams: streams.map(|s| Some(s.as_str(ctx)?.to_owned())).collect::<Option<_>>()?,
        ctas: match (number("min_ctas"), most) {
            (None, None) => None,
            (least, most) => Some((least.unwrap_or(1), most.unwrap_or(u32::MAX))),
        },
        nccl: match get("nccl") {
            None => None,
            Some(version) => Some(version_of(version.as_str(ctx)?)?),
        },
    })
}

/// `2.21` or `2.21.5` as major and minor.
pub(super) fn version_of(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.').map(|part| part.parse::<u32>().ok());
    Some((parts.next()??, parts.next()??))
}

pub(super) fn parse(p: &mut Parser<'_>) -> ParseResult<()> {
    let ctx = p.ctx();
    if p.eat_keyword("stream") {
        let stream = ctx.str_attr(&p.parse_string()?);
        p.set_attr("stream", stream);
        p.expect_keyword("for")?;
        let mut work = Vec::new();
        loop {
            let start = p.token().start;
            let name = p.parse_keyword("a kind of work such as all_to_all")?;
            if Work::named(name).is_none() {
                let known: Vec<&str> = Work::ALL.iter().map(|w| w.name()).collect();
                let close = piper_ir::diag::did_you_mean(name, known.iter().copied());
                let hint =
                    close.map_or(known.join(", "), |close| format!("did you mean '{close}'?"));
                p.report_at(start, format!("there is no work '{name}'")).hint(hint);
                return Err(Failed);
            }
            work.push(ctx.str_attr(name));
            if !p.eat(TokenKind::VBar) {
                break;
            }
        }
        let work = ctx.array_attr(work);
        p.set_attr("work", work);
        if p.eat_keyword("over") {
            let axis = ctx.str_attr(&p.parse_string()?);
            p.set_attr("over", axis);
        }
        if p.at(TokenKind::LBrace) {
            let filter = filter::parse(p)?;
            p.set_attr("filter", filter);
        }
    } else if p.eat_keyword("interleave") {
        p.expect_keyword("over")?;
        let axis = ctx.str_attr(&p.parse_string()?);
        p.set_attr("interleave", axis);
    } else if p.eat_keyword("partition") {
        let name = ctx.str_attr(&p.parse_string()?);
        p.set_attr("partition", name);
        options(p, &["comm"])?;
    } else {
        return Err(p.expected("'stream', 'partition' or 'interleave'"));
    }
    p.parse_optional_attributes()
}

/// `name = value` as often as there is a name of an option. `without` are those that the form does not have.
fn options(p: &mut Parser<'_>, without: &[&str]) -> ParseResult<()> {
    let mut seen: Vec<&str> = Vec::new();
    while p.at(TokenKind::BareId) && !p.token().first_of_line {
        let start = p.token().start;
        let name = p.parse_keyword("an option such as sms")?;
        let mut known = OPTIONS.iter().copied().filter(|o| !without.contains(o));
        let Some(option) = known.clone().find(|option| *option == name) else {
            let close = piper_ir::diag::did_you_mean(name, known.by_ref());
            let hint = close.map_or_else(
                || format!("options: {}", OPTIONS.join(", ")),
                |close| format!("did you mean '{close}'?"),
            );
            p.report_at(start, format!("a partition has no option '{name}'")).hint(hint);
            return Err(Failed);
        };
        if seen.contains(&option) {
            p.report_at(start, format!("option '{option}' stands twice"));
            return Err(Failed);
        }
        seen.push(option);
        p.expect(TokenKind::Equal, "'='")?;
        let value = p.parse_attribute()?;
        let ctx = p.ctx();
        // `24 : i64` and `24` are the same number.
        let value = value.as_int(ctx).map_or(value, |number| ctx.int_attr(number));
        p.set_attr(option, value);
    }
    Ok(())
}

pub(super) fn print(p: &mut Printer<'_>, op: Op) {
    let (module, ctx) = (p.module(), p.ctx());
    let resource = ResourceOp(op);
    if let Some(stream) = resource.stream(module) {
        p.text(" stream ");
        p.attr(stream);
        p.text(" for ");
        let work = resource.work(module).and_then(|w| w.as_array(ctx)).unwrap_or_default();
        for (i, kind) in work.iter().enumerate() {
            p.text(if i == 0 { "" } else { "|" });
            p.text(kind.as_str(ctx).unwrap_or_default());
        }
        if let Some(axis) = resource.over(module) {
            p.text(" over ");
            p.attr(axis);
        }
        if let Some(filter) = resource.filter(module) {
            filter::print(p, filter);
        }
    } else if let Some(axis) = resource.interleave(module) {
        p.text(" interleave over ");
        p.attr(axis);
    } else if let Some(name) = resource.partition(module) {
        p.text(" partition ");
        p.attr(name);
        print_options(p, op);
    }
    let elided = ["stream", "work", "over", "filter", "interleave", "partition"];
    let elided: Vec<&str> = elided.into_iter().chain(OPTIONS.iter().copied()).collect();
    p.attr_dict(op, &elided);
}

fn print_options(p: &mut Printer<'_>, op: Op) {
    for option in OPTIONS {
        let Some(value) = p.module().attr_by(op, option) else { continue };
        p.text(" ");
        p.text(option);
        p.text(" = ");
        match value.data(p.ctx()) {
            AttrData::Str(text) => p.string(text),
            _ => p.attr(value),
        }
    }
}

pub(super) fn parse_share(p: &mut Parser<'_>) -> ParseResult<()> {
    options(p, &["sms", "workers"])?;
    p.parse_optional_attributes()
}

pub(super) fn print_share(p: &mut Printer<'_>, op: Op) {
    print_options(p, op);
    p.attr_dict(op, OPTIONS);
}

/// The attributes of the options that a directive has, in the order in which they are printed.
pub fn partition_options(module: &Module, op: Op) -> Vec<(&'static str, Attr)> {
    OPTIONS.iter().filter_map(|name| Some((*name, module.attr_by(op, name)?))).collect()
}
