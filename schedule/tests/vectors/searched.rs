//! Our search against sail-sg's: as short or shorter under the same costs and no more activations.

use std::collections::BTreeMap;

use piper_schedule::{Config, Costs, generate};

use crate::tables;

#[test]
fn searched_schedules_are_equalled_or_beaten() {
    let (mut groups, mut equalled, mut beaten) = (BTreeMap::<String, [u32; 4]>::new(), 0, 0);
    let mut worse = Vec::new();
    for file in ["sail_zb_h1_h2.csv", "sail_zbv_vhalf_vmin.csv"] {
        for ((name, (p, v, m), params), table) in tables(file) {
            let param = |key: &str| -> Option<u64> {
                params
                    .split(';')
                    .find_map(|pair| pair.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
            };
            let cost = |key| param(key).unwrap();
            let costs = Costs::new(cost("f"), cost("b"), cost("w")).with_transport(cost("c"));
            let theirs = table.replay(&costs).unwrap();
            let limit = *theirs.peak_activations.iter().max().unwrap();
            if let Some(stated) = param("max_mem") {
                assert!(u64::from(limit) <= stated, "{name} {p} {m}: {limit} of {stated}");
            }
            let config = Config::new(p, v, m).with_costs(costs).with_max_activations(limit);
            let ours = generate(if v == 1 { "zb_auto" } else { "zbv_auto" }, &config).unwrap();
            ours.check().unwrap();
            let ours = ours.replay(&costs).unwrap();
            assert!(ours.peak_activations.iter().all(|peak| *peak <= limit), "{name} {p} {m}");
            let count = groups.entry(name.clone()).or_default();
            count[0] += 1;
            match ours.makespan.cmp(&theirs.makespan) {
                std::cmp::Ordering::Less => (beaten += 1, count[1] += 1).0,
                std::cmp::Ordering::Equal => (equalled += 1, count[2] += 1).0,
                std::cmp::Ordering::Greater => {
                    count[3] += 1;
                    worse.push(format!(
                        "{name} P={p} M={m} {params} limit {limit}: {} against {}",
                        ours.makespan, theirs.makespan
                    ));
                }
            }
        }
    }
    for (name, [all, less, equal, more]) in &groups {
        println!("{name}: {all} tables, {less} beaten, {equal} equalled, {more} not reached");
    }
    worse.iter().for_each(|line| println!("not reached: {line}"));
    println!(
        "searched schedules: {beaten} beaten, {equalled} equalled, {} not reached",
        worse.len()
    );
    assert!(worse.is_empty(), "{}", worse.join("\n"));
}
