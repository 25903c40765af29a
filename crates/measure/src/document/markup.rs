//! Elements of HTML and SVG. Whatever a user named goes in as text and comes
//! out escaped: there is no other way in.

use std::fmt::{self, Display, Write};

/// An element with its attributes and its content.
#[derive(Clone, Debug)]
pub struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    content: Vec<MarkupNode>,
}

#[derive(Clone, Debug)]
enum MarkupNode {
    Element(Element),
    Text(String),
    /// Our own style and script: constants of this crate.
    Verbatim(&'static str),
}

/// Elements without an end tag.
const VOID: [&str; 2] = ["meta", "br"];

impl Element {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            attributes: Vec::new(),
            content: Vec::new(),
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Display) -> Self {
        self.attributes.push((name, value.to_string()));
        self
    }

    pub(crate) fn class(self, value: impl Display) -> Self {
        self.with("class", value)
    }

    /// Adds a coordinate or a length, to a tenth of a pixel.
    pub(crate) fn at(self, name: &'static str, value: f64) -> Self {
        self.with(name, Pixels(value))
    }

    pub(crate) fn text(mut self, text: impl Display) -> Self {
        self.content.push(MarkupNode::Text(text.to_string()));
        self
    }

    pub(crate) fn child(mut self, child: Element) -> Self {
        self.content.push(MarkupNode::Element(child));
        self
    }

    pub(crate) fn children(mut self, children: impl IntoIterator<Item = Element>) -> Self {
        let elements = children.into_iter().map(MarkupNode::Element);
        self.content.extend(elements);
        self
    }

    /// Adds a constant of this crate as it is.
    pub(crate) fn verbatim(mut self, text: &'static str) -> Self {
        self.content.push(MarkupNode::Verbatim(text));
        self
    }

    /// Marks what belongs to a flow, so that pointing at one lights all of it.
    pub(crate) fn flow(self, index: usize) -> Self {
        self.with("data-flow", index)
    }
}

impl Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}", self.name)?;
        for (name, value) in &self.attributes {
            write!(f, " {name}=\"{}\"", Escaped(value))?;
        }
        f.write_char('>')?;
        for content in &self.content {
            match content {
                MarkupNode::Element(element) => element.fmt(f)?,
                MarkupNode::Text(text) => Escaped(text).fmt(f)?,
                MarkupNode::Verbatim(text) => f.write_str(text)?,
            }
        }
        match VOID.contains(&self.name) {
            true => Ok(()),
            false => write!(f, "</{}>", self.name),
        }
    }
}

struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // Neither HTML nor a terminal has a use for these.
                control if control.is_control() && control != '\n' => f.write_char('\u{fffd}')?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// A length in pixels, to a tenth, without a trailing zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pixels(pub(crate) f64);

impl Display for Pixels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.1}", self.0);
        let text = text.strip_suffix(".0").unwrap_or(&text);
        f.write_str(if text == "-0" { "0" } else { text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_become_markup() {
        let name = "<script>alert('1')</script>&\"";

        let markup = Element::new("p").with("title", name).text(name).to_string();

        assert_eq!(
            markup,
            "<p title=\"&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;\">\
             &lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;</p>"
        );
    }

    #[test]
    fn pixels_are_as_short_as_they_can_be() {
        let text = [1.0, 1.25, -0.01, 1234.56].map(|value| Pixels(value).to_string());

        assert_eq!(text, ["1", "1.2", "0", "1234.6"]);
    }
}
