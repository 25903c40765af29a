//! The car of MC-SDN section VIII: it drives towards a wall until an image that shows it
//! has arrived, and brakes.
//!
//! At speed `v` an image that arrives `t` after the wall came into sight finds the car
//! `v t` further: the distance of *perception and reaction*. From there it stops after
//! `v² / 2a`. The paper says neither how strongly its car brakes nor how long its
//! computer looks at an image.

use units::Duration;

/// A car, and the road before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Car {
    /// How fast it drives, in metres a second.
    pub speed: f64,
    /// How strongly it brakes, in metres a second squared.
    pub deceleration: f64,
    /// How long it looks at an image before it brakes.
    pub reaction: Duration,
    /// How far the wall is away at the start, in metres.
    pub wall: f64,
    /// How far the camera sees, in metres.
    pub sight: f64,
}

/// An image of the camera.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// When it was taken, after the start.
    pub taken: Duration,
    /// When all of it had arrived, if it did.
    pub arrived: Option<Duration>,
}

/// How a drive ended. All lengths are in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// From where the wall came into sight to where the car braked.
    pub perception: f64,
    /// From there to where it stood.
    pub braking: f64,
    /// How fast it was at the wall, in metres a second; zero if it stopped before.
    pub impact: f64,
}

impl Stop {
    /// Returns from where the wall came into sight to where the car stood, or would
    /// have without the wall.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.perception + self.braking
    }
}

impl Car {
    /// The paper's car: 2.1 m/s, 7 m, 2 m. That it brakes with 3 m/s² and looks at an
    /// image for 10 ms is our assumption.
    pub const PAPER: Self = Self {
        speed: 2.1,
        deceleration: 3.0,
        reaction: Duration::from_ms(10),
        wall: 7.0,
        sight: 2.0,
    };

    /// Returns when the wall comes into sight, after the start.
    #[must_use]
    pub fn sees_wall_at(&self) -> Duration {
        let after = (self.wall - self.sight) / self.speed;
        let after = std::time::Duration::from_secs_f64(after).as_nanos();
        Duration::from_ns(u64::try_from(after).expect("a drive takes no years"))
    }

    /// Returns where the wall comes into sight, from the start.
    #[must_use]
    pub fn sees_wall_from(&self) -> f64 {
        self.wall - self.sight
    }

    /// Drives, and brakes when the first image that shows the wall has been looked at; into
    /// the wall if none comes in time.
    #[must_use]
    pub fn drive(&self, images: impl IntoIterator<Item = Image>) -> Stop {
        let sees = self.sees_wall_at();
        let showing = images.into_iter().filter(|image| image.taken >= sees);
        let seen = showing.filter_map(|image| image.arrived).min();
        let Some(seen) = seen else {
            return self.hit_the_wall();
        };
        let late = (seen + self.reaction).as_secs_f64() - sees.as_secs_f64();
        let perception = self.speed * late;
        if perception >= self.sight {
            return self.hit_the_wall();
        }
        let braking = self.speed * self.speed / (2.0 * self.deceleration);
        let left = self.speed.powi(2) - 2.0 * self.deceleration * (self.sight - perception);
        Stop {
            perception,
            braking,
            impact: left.max(0.0).sqrt(),
        }
    }

    fn hit_the_wall(&self) -> Stop {
        Stop {
            perception: self.sight,
            braking: 0.0,
            impact: self.speed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAR: Car = Car::PAPER;

    #[test]
    fn the_wall_is_in_sight_after_five_metres() {
        let ms = CAR.sees_wall_at().as_whole_ms();

        assert_eq!(ms, 2_380);
        assert!((CAR.sees_wall_from() - 5.0).abs() < 1e-9);
    }

    #[test]
    fn an_image_from_before_shows_no_wall() {
        let before = image(-1, 5);
        let after = image(90, 100);

        let stop = CAR.drive([before, after]);

        let expected = 2.1 * (0.100 + 0.010);
        assert!((stop.perception - expected).abs() < 1e-6, "{stop:?}");
        assert!((stop.braking - 0.735).abs() < 1e-6, "{stop:?}");
        assert!(stop.impact.abs() < 1e-9);
    }

    #[test]
    fn the_first_image_that_arrives_counts_whichever_it_is() {
        let lost = Image {
            arrived: None,
            ..image(0, 0)
        };

        let stop = CAR.drive([lost, image(10, 300), image(50, 70)]);

        assert!((stop.perception - 2.1 * 0.080).abs() < 1e-6, "{stop:?}");
    }

    #[test]
    fn who_sees_too_late_hits_the_wall() {
        let late = CAR.drive([image(0, 700)]);
        let never = CAR.drive([]);

        // 0.71 s of 0.952 s are gone: 0.509 m are left of the 0.735 m to brake.
        assert!((late.impact - 1.165).abs() < 0.01, "{late:?}");
        assert!((never.impact - 2.1).abs() < 1e-9, "{never:?}");
    }

    fn image(taken_ms: i64, arrived_ms: i64) -> Image {
        let at = |ms: i64| {
            let ns = CAR
                .sees_wall_at()
                .as_ns()
                .checked_add_signed(ms * 1_000_000);
            Duration::from_ns(ns.unwrap())
        };
        Image {
            taken: at(taken_ms),
            arrived: Some(at(arrived_ms)),
        }
    }
}
