//! Reads the classes of traffic.

use toml::de::DeValue;
use units::BitRate;

use crate::class::DEFAULT_CLASSES;
use crate::format::CLASS;
use crate::mistake::Mistake;
use crate::names::Names;
use crate::problem::{Problems, TextSpan};
use crate::record::LayeredTable;
use crate::{Budget, Class, ClassIndex};

/// Returns the classes, the most urgent first, and their names.
pub(super) fn read(
    file: &LayeredTable<'_>,
    problems: &mut Problems,
) -> (Vec<Class>, Names<ClassIndex>) {
    let mut classes = Vec::new();
    for named in file.named("classes") {
        let Some(record) = named.record(&CLASS) else {
            continue;
        };
        let queue = record
            .integer("queue")
            .and_then(|queue| u8::try_from(queue).ok());
        let class = Class {
            name: named.name.to_owned(),
            queue: queue.unwrap_or(0),
            budgets: budgets(&record),
        };
        let place = record.place_of("queue");
        if queue.is_some() {
            check_queue(&class, &place, &classes, problems);
        }
        classes.push((class, named.place));
    }
    if !file.has("classes") {
        classes.extend(DEFAULT_CLASSES.map(|(name, queue)| {
            let (name, budgets) = (name.to_owned(), Vec::new());
            (
                Class {
                    name,
                    queue,
                    budgets,
                },
                0..0,
            )
        }));
    }
    classes.sort_by_key(|(class, _)| std::cmp::Reverse(class.queue));
    let mut names = Names::new("class", "[classes]");
    for (index, (class, place)) in classes.iter().enumerate() {
        names.give(&class.name, ClassIndex(index), place.clone(), problems);
    }
    let classes = classes.into_iter().map(|(class, _)| class).collect();
    (classes, names)
}

fn check_queue(
    class: &Class,
    place: &TextSpan,
    others: &[(Class, TextSpan)],
    problems: &mut Problems,
) {
    let other = others.iter().find(|(other, _)| other.queue == class.queue);
    if let Some((other, _)) = other {
        let mistake = Mistake::Contradiction {
            sentence: format!(
                "queue {} belongs to class `{}` already",
                class.queue, other.name
            ),
            help: "give each class a queue of its own, 7 (served first) to 0".to_owned(),
        };
        problems.report(place.clone(), mistake);
    }
}

fn budgets(record: &LayeredTable<'_>) -> Vec<Budget> {
    let general = record.delay("budget");
    let general = general.map(|delay| Budget { rate: None, delay });
    let by_rate = record.named("budget").into_iter().filter_map(|named| {
        let rate: BitRate = named.name.parse().ok()?;
        let DeValue::String(text) = named.item.get_ref() else {
            return None;
        };
        let (rate, delay) = (Some(rate), text.parse().ok()?);
        Some(Budget { rate, delay })
    });
    general.into_iter().chain(by_rate).collect()
}
