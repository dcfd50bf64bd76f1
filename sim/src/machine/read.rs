//! The machine file.
//!
//! Read entry by entry rather than through serde, so that a wrong number is reported where it stands.

use piper_plan::DType;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{AxisLinks, Device, Fabric, Host, Level, Links, Machine, MachineError};

type Result<T> = std::result::Result<T, MachineError>;
type Table<'i> = DeTable<'i>;
type Value<'i> = Spanned<DeValue<'i>>;

const DTYPES: [DType; 4] = [DType::F32, DType::F64, DType::I32, DType::Bf16];

impl Machine {
    /// Reads a machine file; [`super`] shows one.
    ///
    /// # Errors
    /// The first entry that is missing, unknown or no sensible number, with its place.
    pub fn parse(text: &str) -> Result<Machine> {
        let file = File { text };
        let document = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            file.error(at, error.message().trim().to_owned(), "")
        })?;
        let root = Entries::of(file, document.span().start, "the machine", document.get_ref());
        root.only(&["name", "device", "host", "fabrics", "axes"])?;
        let name = root.optional("name", File::string)?.unwrap_or_else(|| "machine".to_owned());
        let device = root.table("device")?.ok_or_else(|| {
            file.error(
                0,
                "the machine has no [device]".to_owned(),
                "add [device] with flops, memory_bandwidth and launch_overhead",
            )
        })?;
        let mut machine = Machine {
            name,
            device: read_device(&device)?,
            host: None,
            fabrics: Vec::new(),
            axes: Vec::new(),
        };
        if let Some(host) = root.table("host")? {
            host.only(&["cores"])?;
            machine.host = Some(Host { cores: host.required("cores", File::positive)? });
        }
        if let Some(fabrics) = root.table("fabrics")? {
            for (key, value) in fabrics.table {
                let entries = file.entries(value, &format!("fabric {}", key.get_ref()))?;
                entries.only(&["bandwidth", "latency", "shared_by"])?;
                let fabric = read_fabric(&entries, key.get_ref().to_string())?;
                machine.fabrics.push(fabric);
            }
        }
        if let Some(axes) = root.table("axes")? {
            for (key, value) in axes.table {
                let axis =
                    read_axis(file, key.get_ref(), key.span().start, value, &mut machine.fabrics)?;
                machine.axes.push(axis);
            }
        }
        Ok(machine)
    }
}

fn read_device(device: &Entries<'_, '_>) -> Result<Device> {
    device.only(&[
        "flops",
        "efficiency",
        "memory_bandwidth",
        "memory_efficiency",
        "launch_overhead",
        "memory",
        "streams",
    ])?;
    let flops = by_type(device, "flops", |file, value| file.positive(value))?
        .ok_or_else(|| device.missing("flops"))?;
    let streams = device.optional("streams", |file, value| match file.string(value)?.as_str() {
        "concurrent" => Ok(false),
        "serial" => Ok(true),
        other => Err(file.error(
            value.span().start,
            format!("streams are not \"{other}\""),
            "streams = \"concurrent\" or \"serial\"",
        )),
    })?;
    Ok(Device {
        flops,
        efficiency: by_type(device, "efficiency", |file, value| file.fraction(value))?
            .unwrap_or_default(),
        memory_bandwidth: device.required("memory_bandwidth", File::positive)?,
        memory_efficiency: device.optional("memory_efficiency", File::fraction)?.unwrap_or(1.0),
        launch_overhead: device.optional("launch_overhead", File::not_negative)?.unwrap_or(0.0),
        memory: device.optional("memory", File::positive)?,
        is_serial: streams.unwrap_or(false),
    })
}

/// Numbers by element type: `{ bf16 = ..., f32 = ... }`, or one for all.
fn by_type(
    device: &Entries<'_, '_>,
    key: &str,
    number: impl Fn(File<'_>, &Value<'_>) -> Result<f64>,
) -> Result<Option<Vec<(DType, f64)>>> {
    device.optional(key, |file, value| {
        let DeValue::Table(table) = value.get_ref() else {
            let all = number(file, value)?;
            return Ok(DTYPES.map(|dtype| (dtype, all)).to_vec());
        };
        let read = table.iter().map(|(key, value)| {
            let dtype = DTYPES.into_iter().find(|d| d.name() == key.get_ref());
            let dtype = dtype.ok_or_else(|| {
                file.error(
                    key.span().start,
                    format!("there is no element type {}", key.get_ref()),
                    "element types: f32, f64, bf16, i32",
                )
            })?;
            Ok((dtype, number(file, value)?))
        });
        read.collect::<Result<Vec<_>>>()
    })
}

fn read_fabric(entries: &Entries<'_, '_>, name: String) -> Result<Fabric> {
    let shared_by = entries.optional("shared_by", File::count)?.unwrap_or(1);
    Ok(Fabric {
        name,
        bandwidth: entries.required("bandwidth", File::positive)?,
        latency: entries.optional("latency", File::not_negative)?.unwrap_or(0.0),
        shared_by,
    })
}

/// `"nvlink"`, `{fabric = ..., links = ...}`, `{bandwidth = ..., latency = ...}`, or a list of levels.
fn read_axis(
    file: File<'_>,
    axis: &str,
    at: usize,
    value: &Value<'_>,
    fabrics: &mut Vec<Fabric>,
) -> Result<AxisLinks> {
    let mut levels = Vec::new();
    let mut links = Links::All;
    let level = |value: &Value<'_>, known: &[Fabric]| -> Result<Level> {
        let entries = file.entries(value, &format!("a level of axis {axis}"))?;
        entries.only(&["fabric", "size", "links"])?;
        Ok(Level {
            fabric: entries.required("fabric", |file, value| find(file, value, known))?,
            size: entries.optional("size", File::count)?,
        })
    };
    match value.get_ref() {
        DeValue::String(_) => {
            levels.push(Level { fabric: find(file, value, fabrics)?, size: None })
        }
        DeValue::Array(list) => {
            for value in list.iter() {
                levels.push(level(value, fabrics)?);
            }
        }
        DeValue::Table(table) => {
            let entries = file.entries(value, &format!("axis {axis}"))?;
            if table.contains_key("fabric") {
                levels.push(level(value, fabrics)?);
            } else {
                entries.only(&["bandwidth", "latency", "shared_by", "links"])?;
                levels.push(Level { fabric: fabrics.len(), size: None });
                fabrics.push(read_fabric(&entries, axis.to_owned())?);
            }
            links = entries.optional("links", read_links)?.unwrap_or(Links::All);
        }
        _ => {
            return Err(file.error(
                value.span().start,
                format!("axis {axis} lies on no fabric"),
                "write the name of a fabric, { bandwidth = 50e9, latency = 5e-6 }, or a list of levels",
            ));
        }
    }
    if levels.is_empty() {
        return Err(file.error(
            value.span().start,
            format!("axis {axis} has no levels"),
            "name at least one fabric",
        ));
    }
    Ok(AxisLinks { axis: axis.to_owned(), levels, links, place: file.place(at) })
}

fn find(file: File<'_>, value: &Value<'_>, fabrics: &[Fabric]) -> Result<usize> {
    let name = file.string(value)?;
    fabrics.iter().position(|f| f.name == name).ok_or_else(|| {
        let names: Vec<&str> = fabrics.iter().map(|f| f.name.as_str()).collect();
        let hint = match names[..] {
            [] => format!("add [fabrics.{name}] with bandwidth and latency"),
            _ => format!("there are {}; or add [fabrics.{name}]", names.join(", ")),
        };
        file.error(value.span().start, format!("there is no fabric \"{name}\""), &hint)
    })
}

fn read_links(file: File<'_>, value: &Value<'_>) -> Result<Links> {
    let wrong = || {
        file.error(
            value.span().start,
            "these are no links".to_owned(),
            "links = \"all\", \"ring\", \"line\", or a list of pairs such as [[0, 1], [1, 2]]",
        )
    };
    match value.get_ref() {
        DeValue::String(text) => match text.as_ref() {
            "all" => Ok(Links::All),
            "ring" => Ok(Links::Ring),
            "line" => Ok(Links::Line),
            _ => Err(wrong()),
        },
        DeValue::Array(list) => {
            let pair = |value: &Value<'_>| {
                let DeValue::Array(pair) = value.get_ref() else { return Err(wrong()) };
                let ends = pair.iter().map(|v| file.coordinate(v)).collect::<Result<Vec<u32>>>()?;
                match ends[..] {
                    [a, b] => Ok((a, b)),
                    _ => Err(wrong()),
                }
            };
            Ok(Links::Pairs(list.iter().map(pair).collect::<Result<_>>()?))
        }
        _ => Err(wrong()),
    }
}

/// The text, to turn offsets into places and to read values.
#[derive(Clone, Copy)]
struct File<'t> {
    text: &'t str,
}

impl<'t> File<'t> {
    fn place(self, at: usize) -> (usize, usize) {
        let before = &self.text[..self.text.floor_char_boundary(at)];
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (line, before[start..].chars().count() + 1)
    }

    fn error(self, at: usize, message: String, hint: &str) -> MachineError {
        MachineError { place: self.place(at), message, hint: hint.to_owned() }
    }

    fn entries<'v, 'i>(self, value: &'v Value<'i>, what: &str) -> Result<Entries<'v, 'i>>
    where
        't: 'v,
    {
        match value.get_ref() {
            DeValue::Table(table) => Ok(Entries {
                file: self.text,
                at: value.span().start,
                what: what.to_owned(),
                table,
            }),
            _ => {
                Err(self.error(value.span().start, format!("{what} is no table"), "write { ... }"))
            }
        }
    }

    fn string(self, value: &Value<'_>) -> Result<String> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.error(
                value.span().start,
                "a text in quotes is needed here".to_owned(),
                "",
            )),
        }
    }

    fn number(self, value: &Value<'_>) -> Result<f64> {
        let text = match value.get_ref() {
            DeValue::Float(float) => float.as_str(),
            DeValue::Integer(integer) => integer.as_str(),
            _ => "",
        };
        let number: Option<f64> = text.parse().ok();
        number.filter(|n| n.is_finite()).ok_or_else(|| {
            self.error(value.span().start, "a finite number is needed here".to_owned(), "")
        })
    }

    fn positive(self, value: &Value<'_>) -> Result<f64> {
        let number = self.number(value)?;
        if number > 0.0 {
            return Ok(number);
        }
        Err(self.error(
            value.span().start,
            format!("{number} is not above 0"),
            "this is a rate or a size: it has to be positive",
        ))
    }

    fn not_negative(self, value: &Value<'_>) -> Result<f64> {
        let number = self.number(value)?;
        if number >= 0.0 {
            return Ok(number);
        }
        Err(self.error(
            value.span().start,
            format!("{number} is negative"),
            "times are 0 or more, in seconds",
        ))
    }

    fn fraction(self, value: &Value<'_>) -> Result<f64> {
        let number = self.number(value)?;
        if number > 0.0 && number <= 1.0 {
            return Ok(number);
        }
        Err(self.error(
            value.span().start,
            format!("{number} is no efficiency"),
            "efficiencies are above 0 and at most 1",
        ))
    }

    fn coordinate(self, value: &Value<'_>) -> Result<u32> {
        let number = self.number(value)?;
        if number >= 0.0 && number.fract() == 0.0 && number <= f64::from(u32::MAX) {
            return Ok(number as u32);
        }
        Err(self.error(value.span().start, format!("{number} is no coordinate"), ""))
    }

    fn count(self, value: &Value<'_>) -> Result<u32> {
        match self.coordinate(value) {
            Ok(count) if count > 0 => Ok(count),
            _ => Err(self.error(
                value.span().start,
                "a whole number above 0 is needed here".to_owned(),
                "",
            )),
        }
    }
}

/// A table of the file with what it is called in messages.
struct Entries<'v, 'i> {
    file: &'v str,
    at: usize,
    what: String,
    table: &'v Table<'i>,
}

impl<'v, 'i> Entries<'v, 'i> {
    fn of(file: File<'v>, at: usize, what: &str, table: &'v Table<'i>) -> Self {
        Entries { file: file.text, at, what: what.to_owned(), table }
    }

    fn file(&self) -> File<'v> {
        File { text: self.file }
    }

    /// Refuses entries that nobody reads: a misspelt one would silently be its default.
    fn only(&self, known: &[&str]) -> Result<()> {
        match self.table.keys().find(|key| !known.contains(&key.get_ref().as_ref())) {
            None => Ok(()),
            Some(key) => Err(self.file().error(
                key.span().start,
                format!("{} has no entry \"{}\"", self.what, key.get_ref()),
                &format!("there are {}", known.join(", ")),
            )),
        }
    }

    fn missing(&self, key: &str) -> MachineError {
        self.file().error(
            self.at,
            format!("{} has no {key}", self.what),
            &format!("add {key} = ..."),
        )
    }

    fn optional<T>(
        &self,
        key: &str,
        read: impl Fn(File<'v>, &Value<'i>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.table.get(key).map(|value| read(self.file(), value)).transpose()
    }

    fn required<T>(
        &self,
        key: &str,
        read: impl Fn(File<'v>, &Value<'i>) -> Result<T>,
    ) -> Result<T> {
        self.optional(key, read)?.ok_or_else(|| self.missing(key))
    }

    fn table(&self, key: &str) -> Result<Option<Entries<'v, 'i>>> {
        self.table.get(key).map(|value| self.file().entries(value, &format!("[{key}]"))).transpose()
    }
}
