//! The tables, and the same as JSON.

use std::fmt::Write as _;
use std::fs;
use std::io;

use sim::servers::family::Family;
use sim::servers::methods;
use sim::servers::ratios::{CUTS_PERCENT, Tallies, Tally};

use crate::arguments::Arguments;

/// Quantiles in the tables, in percent.
const QUANTILES: [u64; 5] = [1, 10, 50, 90, 99];

pub struct Report<'a> {
    pub tallies: &'a Tallies,
    /// How many promises were broken.
    pub violations: usize,
    /// The seed of the first network.
    pub first_seed: u64,
}

impl Report<'_> {
    /// Prints and writes what the arguments ask for.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn put_out(&self, arguments: &Arguments) -> io::Result<()> {
        let tables = self.tables();
        if let Some(file) = &arguments.markdown {
            fs::write(file, &tables)?;
        }
        match arguments.json {
            true => println!("{}", self.json()),
            false => println!("{tables}"),
        }
        Ok(())
    }

    fn tables(&self) -> String {
        let Tallies {
            networks,
            flows,
            not_simulated,
            ..
        } = self.tallies;
        let mut text = format!(
            "{networks} networks with {flows} flows, seeds from {}; {not_simulated} networks could \
             not be simulated. Promises broken: **{}**.\n\n",
            self.first_seed, self.violations
        );
        text += "Bound / longest delay seen, over all flows that have a bound:\n\n";
        self.write_ratios(&mut text);
        text += "\nThe median by family:\n\n";
        self.write_families(&mut text);
        text += "\nIn how many of the networks with a bound the adversary would have noticed bounds that \
                 are too small:\n\n";
        self.write_cuts(&mut text);
        text
    }

    fn write_ratios(&self, text: &mut String) {
        text.push_str(
            "| method | networks | does not apply | flows bounded | unbounded | least | 1 % | 10 % \
             | median | 90 % | 99 % |\n| --- |",
        );
        text.push_str(&" ---: |".repeat(10));
        text.push('\n');
        for (method, tally) in self.methods() {
            let least = tally.closest.map(|(ratio, _)| ratio);
            let quantiles = QUANTILES.map(|percent| tally.quantile(percent));
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} | {} | {} | {} |",
                method,
                tally.applies,
                tally.does_not_apply,
                tally.bounded,
                tally.unbounded,
                least.map_or("–".to_owned(), |it| format!("{it:.4}")),
                quantiles.map(ratio).join(" | "),
            );
        }
    }

    fn write_families(&self, text: &mut String) {
        let families = Family::ALL.map(Family::name).join(" | ");
        let _ = writeln!(text, "| method | {families} |");
        let _ = writeln!(text, "| --- |{}", " ---: |".repeat(Family::ALL.len()));
        for (method, _) in self.methods() {
            let medians = Family::ALL.map(|family| {
                let tally = self.tallies.by_method.get(&(method, Some(family)));
                ratio(tally.and_then(|tally| tally.quantile(50)))
            });
            let _ = writeln!(text, "| `{}` | {} |", method, medians.join(" | "));
        }
    }

    fn write_cuts(&self, text: &mut String) {
        let cuts = CUTS_PERCENT
            .map(|percent| format!("{percent} % less"))
            .join(" | ");
        let _ = writeln!(text, "| method | {cuts} |");
        let _ = writeln!(text, "| --- |{}", " ---: |".repeat(CUTS_PERCENT.len()));
        for (method, tally) in self.methods() {
            let noticed = tally.noticed.map(|networks| {
                let percent = percent(networks, tally.applies);
                format!("{percent:.1} %")
            });
            let _ = writeln!(text, "| `{}` | {} |", method, noticed.join(" | "));
        }
    }

    fn json(&self) -> String {
        let methods: Vec<_> = self.tallies.by_method.iter().map(entry).collect();
        format!(
            "{{\"networks\": {}, \"flows\": {}, \"not_simulated\": {}, \"first_seed\": {}, \
             \"violations\": {}, \"methods\": [{}]}}",
            self.tallies.networks,
            self.tallies.flows,
            self.tallies.not_simulated,
            self.first_seed,
            self.violations,
            methods.join(", ")
        )
    }

    /// Returns what was counted of each method over all families, in their order.
    fn methods(&self) -> impl Iterator<Item = (&'static str, &Tally)> {
        let names = methods::all().into_iter().map(|candidate| candidate.name);
        names.filter_map(|name| Some((name, self.tallies.by_method.get(&(name, None))?)))
    }
}

fn entry(((method, family), tally): (&(&'static str, Option<Family>), &Tally)) -> String {
    let family = family.map_or("all", Family::name);
    let quantiles: Vec<_> = QUANTILES
        .iter()
        .map(|percent| format!("\"p{percent}\": {}", number(tally.quantile(*percent))))
        .collect();
    let noticed: Vec<_> = CUTS_PERCENT
        .iter()
        .zip(tally.noticed)
        .map(|(percent, networks)| format!("\"{percent}\": {networks}"))
        .collect();
    format!(
        "{{\"method\": \"{}\", \"family\": \"{family}\", \"networks\": {}, \"does_not_apply\": {}, \
         \"flows_bounded\": {}, \"flows_unbounded\": {}, \"least\": {}, \"least_seed\": {}, {}, \
         \"networks_noticed_by_cut_percent\": {{{}}}}}",
        method,
        tally.applies,
        tally.does_not_apply,
        tally.bounded,
        tally.unbounded,
        number(tally.closest.map(|(ratio, _)| ratio)),
        tally
            .closest
            .map_or("null".to_owned(), |(_, seed)| seed.to_string()),
        quantiles.join(", "),
        noticed.join(", "),
    )
}

fn number(value: Option<f64>) -> String {
    value.map_or("null".to_owned(), |value| format!("{value:.6}"))
}

fn ratio(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.2}"))
}

#[expect(clippy::cast_precision_loss, reason = "a statistic")]
fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}
