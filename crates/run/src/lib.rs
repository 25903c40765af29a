//! What does a scenario, or a device, do? [`experiment`] turns a scenario into what the
//! two worlds run and compares what was seen with what was promised; [`measuring`]
//! measures a device; [`room`] says what deadlines leave to spare.

pub mod experiment;
pub mod measuring;
pub mod room;
pub mod text_file;
