//! Why something is not proven.

use thiserror::Error;
use units::Delay;

/// What a certificate does not prove.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{at}: {reason}")]
pub struct Objection {
    /// The flow or the stage.
    pub at: String,
    /// What is wrong there.
    pub reason: Reason,
}

/// Why something is not proven.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Reason {
    /// Nothing is promised.
    #[error("it promises nothing, so it proves nothing")]
    Empty,
    /// Something is beyond the limits that the arithmetic and the time to check have.
    #[error("it is larger or longer than anything that is checked")]
    TooMuch,
    /// Something that has to be unique is there twice.
    #[error("its {0} is there twice")]
    Twice(&'static str),
    /// Something is named that there is not.
    #[error("there is no {0} `{1}`")]
    Unknown(&'static str, String),
    /// A host has no link.
    #[error("it has no link")]
    Loose,
    /// A link joins no two switches and no switch to a host.
    #[error("it joins no two switches, and no switch to a host")]
    NoSwitch,
    /// The digest of a profile is not that of its figures.
    #[error("its digest is not that of its figures")]
    ProfileDigest,
    /// Something that no network has and no flow does.
    #[error("{0}")]
    Senseless(&'static str),
    /// Contract, promise or budgets are not stated once for each level.
    #[error("it does not say what holds at each of the {0} levels")]
    Levels(usize),
    /// A way is none.
    #[error("{0} is no way from the source to all receivers: {1}")]
    NoWay(WayKind, &'static str),
    /// A way leads over what is broken.
    #[error("the alternative leads over `{0}`, which is broken then")]
    OverBroken(String),
    /// Entries that stand beforehand cannot lead frames by the alternative.
    #[error(
        "without `{0}`, frames that are turned back would need entries that contradict those of \
         other ways, or leave the path before"
    )]
    Turned(String),
    /// A failure that a flow is protected against has no alternative.
    #[error("it is protected, and has no alternative without `{0}`")]
    NoAlternative(String),
    /// An alternative is for a link that the path does not cross, or there are two.
    #[error("it has an alternative for what it is not protected against")]
    AlternativeForNothing,
    /// Both copies of frames cross one link between switches.
    #[error("both copies cross `{0}`")]
    SharedLink(String),
    /// Second copies do not end where the document says.
    #[error("both copies have to meet at the eliminator and go on as one")]
    NoEliminator,
    /// Frames that only the slower way brings may come when later ones have gone on.
    #[error("holds frames back for {hold}, and its copies may come {apart} apart")]
    HoldTooShort {
        /// For how long frames are held back at most.
        hold: Delay,
        /// By how much the two ways differ.
        apart: Delay,
    },
    /// A stage that promises rest on has no budget.
    #[error("it passes the {stage}, which has no budget{}", of_class(class))]
    NoBudget {
        /// The stage.
        stage: String,
        /// The class, unless it is a processor.
        class: Option<u8>,
    },
    /// A budget on which nothing rests.
    #[error("a budget{} on which no promise rests", of_class(.0))]
    UnusedBudget(Option<u8>),
    /// A sum of delays is beyond everything.
    #[error("delays add up to more than is computed with")]
    TooLate,
    /// The promise is less than the budgets add up to.
    #[error("promises {promised}{level}, and its budgets add up to {calculated}")]
    Guarantee {
        /// At which level.
        level: LevelName,
        /// What is promised.
        promised: Delay,
        /// What was calculated.
        calculated: Delay,
    },
    /// The promise is beyond the deadline.
    #[error("promises {promised}{level} for a deadline of {deadline}")]
    Deadline {
        /// At which level.
        level: LevelName,
        /// What is promised.
        promised: Delay,
        /// What was asked for.
        deadline: Delay,
    },
    /// More arrives than can be served.
    #[error("more arrives than is served{case}")]
    Overload {
        /// When.
        case: FailureCase,
    },
    /// Frames can be there for longer than the budget.
    #[error(
        "frames{} may be here for {bound}, beyond the budget of {budget}{case}",
        of_class(class)
    )]
    Budget {
        /// The class, unless it is a processor.
        class: Option<u8>,
        /// When.
        case: FailureCase,
        /// What was calculated.
        bound: Delay,
        /// The budget.
        budget: Delay,
    },
    /// A buffer may overflow.
    #[error(
        "up to {frames} frames{} may wait here, and there is room for {room}{case}",
        of_class(class)
    )]
    Buffer {
        /// The class, unless it is a processor.
        class: Option<u8>,
        /// When.
        case: FailureCase,
        /// What was calculated, in frames, rounded up.
        frames: String,
        /// What fits.
        room: u64,
    },
    /// A flow asks for less at a level than below it.
    #[error("it brings less at a level than at one below, where it was let pass before")]
    LevelShrinks,
    /// A flow is in a more urgent queue at a higher level.
    #[error("at a higher level it is in a more urgent queue, where its later frames overtake it")]
    Overtakes,
    /// Frames that a level gives up stand before those that it serves.
    #[error("`{0}` may stand before it in a queue of the {1} when the level changes")]
    NotReserved(String, String),
}

/// A kind of way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WayKind {
    /// The usual one.
    Path,
    /// The one without a link.
    Without(String),
    /// That of second copies.
    Second,
}

/// A level, if there are several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelName(pub Option<String>);

/// When something does not hold: at which level, after the failure of which link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureCase {
    /// At which level, if there are several.
    pub level: LevelName,
    /// After which failure, if after one.
    pub without: Option<String>,
}

impl std::fmt::Display for WayKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path => f.write_str("its path"),
            Self::Without(link) => write!(f, "its alternative without `{link}`"),
            Self::Second => f.write_str("the way of its second copies"),
        }
    }
}

impl std::fmt::Display for LevelName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Some(level) => write!(f, " at level `{level}`"),
            None => Ok(()),
        }
    }
}

impl std::fmt::Display for FailureCase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.without {
            Some(link) => write!(f, "{}, without `{link}`", self.level),
            None => write!(f, "{}", self.level),
        }
    }
}

fn of_class(class: &Option<u8>) -> String {
    let text = class.map(|class| format!(" of class {class}"));
    text.unwrap_or_default()
}
