//! Megatron-LM's schedule tables, and its chunk and layer orders.

use piper_schedule::generate::turns;
use piper_schedule::{Action, Config, Kind, Slot, generate, overlap};

use crate::read;

#[test]
fn schedule_tables_are_reproduced() {
    let text = read("megatron_schedule_table.csv");
    let (mut reproduced, mut total) = (0, 0);
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].parse::<u32>().unwrap();
        let config = Config::new(number(0), number(1), number(2)).with_group(number(3));
        let order: Vec<String> =
            turns(&config).iter().map(|(chunk, mb)| format!("{mb}.{chunk}")).collect();
        assert_eq!(order.join(" "), cells[5], "{line}");
        assert_eq!(generate("interleaved1f1b", &config).is_ok(), cells[4] == "ok", "{line}");
        reproduced += 1;
        total += 1;
    }
    println!("megatron_schedule_table.csv: {reproduced}/{total} rows reproduced");
}

#[test]
fn chunk_and_layer_orders_are_reproduced() {
    let text = read("megatron_chunk_order.csv");
    let mut reproduced = 0;
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].parse::<u32>().unwrap();
        let (p, layers) = (number(0), 2);
        let plain = Config::new(p, number(1), number(2)).with_group(number(3));
        let overlaps = !cells[7].is_empty();
        let config = if overlaps { plain.with_overlap() } else { plain };
        let table = generate("interleaved1f1b", &config).unwrap();
        let row = &table.ranks[number(4) as usize];
        let signed = |action: &Action, number: u32| match action.kind {
            Kind::F => number.to_string(),
            _ => format!("-{number}"),
        };
        let chunks = row.iter().flat_map(|slot| slot.actions());
        let chunks: Vec<String> = chunks.map(|a| signed(a, a.stage / p + 1)).collect();
        assert_eq!(chunks.join(" "), cells[6], "{line}");
        let warm_up = row.iter().take_while(|slot| slot.actions()[0].kind == Kind::F);
        let warm_up = warm_up.filter(|slot| slot.actions().len() == 1).count();
        // Without overlap the first forward of the steady state stands alone as well.
        let is_steady = row.len() > warm_up && warm_up < table.actions().count() / 2 / p as usize;
        let extra = usize::from(!overlaps && (is_steady || warm_up > number(5) as usize));
        assert_eq!(warm_up - extra, number(5) as usize, "{line}");
        if overlaps {
            let order = overlap::layer_order(&captured(row), layers);
            let order: Vec<String> = order
                .iter()
                .map(|(a, layer)| signed(a, a.stage / p * layers + layer + 1))
                .collect();
            assert_eq!(order.join(" "), cells[7], "{line}");
        }
        reproduced += 1;
    }
    println!("megatron_chunk_order.csv: {reproduced}/{} rows reproduced", text.lines().count() - 1);
}

/// The pairs of this file: it lists the order in which graphs are captured, where a backward goes with the forward that
/// follows it. The pairs that run (`megatron_interleaved_a2a_overlap`) are of a forward and the backward that follows.
fn captured(row: &[Slot]) -> Vec<Slot> {
    let mut actions = row.iter().flat_map(|slot| slot.actions().iter().copied()).peekable();
    let mut slots = Vec::new();
    while let Some(action) = actions.next() {
        let forward =
            (action.kind != Kind::F).then(|| actions.next_if(|next| next.kind == Kind::F));
        slots.push(match forward.flatten() {
            Some(forward) => Slot::pair(forward, action),
            None => action.into(),
        });
    }
    slots
}
