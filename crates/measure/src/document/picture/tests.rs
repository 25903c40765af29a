use super::*;

#[test]
fn a_place_without_a_value_is_hatched_and_equal_neighbours_are_one_shape() {
    let map = heat_map(vec![vec![Some(1.0), Some(1.0), None], vec![Some(4.0); 3]]);

    let svg = Picture::HeatMap(map.clone()).to_svg();
    let without = heat_map(vec![vec![Some(1.0); 3], vec![Some(4.0); 3]]);
    let without = Picture::HeatMap(without).to_svg();

    assert_eq!(
        svg.matches("url(#hatching-fig14)").count(),
        2,
        "a cell and its key"
    );
    assert_eq!(
        without.matches("url(#hatching-fig14)").count(),
        1,
        "the key alone"
    );
    // Low values on the left, none on the right, high ones above; and the key.
    assert_eq!(svg.matches("rgb(68,1,84)").count(), 2);
    assert_eq!(svg.matches("rgb(253,231,37)").count(), 2);
    let description = "From 1 to 4 ms; 1 of 6 places have no value.";
    assert!(svg.contains(description), "{svg}");
}

#[test]
fn a_box_summary_is_that_of_the_samples() {
    let mut samples: Vec<f64> = (0..=100).rev().map(f64::from).collect();

    let summary = BoxSummary::of(&mut samples).unwrap();

    let BoxSummary {
        min,
        p1,
        q1,
        median,
        q3,
        p99,
        max,
    } = summary;
    assert_eq!(
        [min, p1, q1, median, q3, p99, max],
        [0.0, 1.0, 25.0, 50.0, 75.0, 99.0, 100.0]
    );
    assert_eq!(BoxSummary::of(&mut []), None);
}

#[test]
fn losses_are_full_bullets_and_none_are_empty_ones() {
    let column = |label: &str, lost| BoxColumn {
        label: label.to_owned(),
        summary: BoxSummary::of(&mut [1.0, 2.0, 3.0]),
        lost_percent: Some(lost),
    };
    let chart = BoxChart {
        name: "fig17a".to_owned(),
        title: "delays".to_owned(),
        x_label: "rate multiplier".to_owned(),
        y_label: "delay, ms".to_owned(),
        columns: vec![column("1", 0.0), column("5", 12.0), column("11", 60.0)],
        references: vec![Reference {
            label: "guarantee".to_owned(),
            value: 4.13,
            kind: ReferenceKind::Guarantee,
        }],
    };

    let svg = Picture::Boxes(chart).to_svg();

    assert_eq!(svg.matches("loss none").count(), 1);
    assert_eq!(svg.matches("loss some").count(), 2);
    assert_eq!(svg.matches("class=\"guarantee\"").count(), 1);
    assert_eq!(svg.matches("class=\"box\"").count(), 3);
}

#[test]
fn each_curve_has_a_line_and_a_line_in_the_key() {
    let curve = |label: &str| Curve {
        label: label.to_owned(),
        values: vec![0.9, 0.5],
    };
    let chart = CurveChart {
        name: "fig20".to_owned(),
        title: "accepted".to_owned(),
        x_label: "path length".to_owned(),
        y_label: "share".to_owned(),
        x: vec![0.0, 1.0],
        curves: vec![curve("Loko"), curve("Taktos")],
    };

    let svg = Picture::Curves(chart).to_svg();

    assert_eq!(svg.matches("curve c0").count(), 2);
    assert_eq!(svg.matches("curve c1").count(), 2);
}

#[test]
fn a_figure_is_a_file_of_its_own() {
    let svg = Picture::HeatMap(heat_map(vec![vec![Some(1.0); 3]; 2])).to_svg();

    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.contains("xmlns=\"http://www.w3.org/2000/svg\""));
    assert!(svg.contains("<style>"));
}

#[test]
fn plots_have_four_digits() {
    assert_eq!(
        [1.861_234, 2_067.44, 0.0, 0.000_123_456].map(for_plot),
        [1.861, 2_067.0, 0.0, 0.000_123_5]
    );
}

fn heat_map(values: Vec<Vec<Option<f64>>>) -> HeatMap {
    HeatMap {
        name: "fig14".to_owned(),
        title: "delay".to_owned(),
        unit: "ms".to_owned(),
        scale: Scale::Linear,
        x: Axis {
            label: "entries".to_owned(),
            values: vec![1.0, 2.0, 3.0],
        },
        y: Axis {
            label: "size, B".to_owned(),
            values: vec![64.0, 128.0],
        },
        values,
    }
}

#[test]
fn a_map_shows_every_node_and_every_link_between_nodes() {
    let map = NetworkMap {
        name: "map".to_owned(),
        title: "Three".to_owned(),
        places: vec![[0.0, 0.0], [0.5, 1.0], [1.0, 0.0]],
        links: vec![[0, 1], [1, 2], [2, 7]],
    };

    let svg = Picture::Network(map).to_svg();

    assert_eq!(svg.matches("<circle").count(), 3);
    assert_eq!(svg.matches("<line").count(), 2);
}

#[test]
fn a_road_shows_where_every_drive_stopped() {
    let lane = |label: &str, stops: &[f64]| Lane {
        label: label.to_owned(),
        braked_m: stops.iter().map(|stop| stop - 0.7).collect(),
        stopped_m: stops.to_vec(),
    };
    let map = RoadMap {
        name: "aeb".to_owned(),
        title: "Stops".to_owned(),
        from_m: 4.0,
        seen_m: 5.0,
        wall_m: 7.0,
        lanes: vec![lane("slow", &[6.5, 7.0]), lane("quick", &[5.8])],
    };

    let svg = Picture::Road(map).to_svg();

    assert_eq!(svg.matches("<circle").count(), 3);
    assert!(svg.contains("stops at 5.80 m"));
    assert!(svg.contains(">wall<") && svg.contains(">quick<"));
}
