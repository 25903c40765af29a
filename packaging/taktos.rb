# A formula for Homebrew on Linux, from the source: untested. `url` and `sha256` are those of
# a release's source archive, of which there is none yet.
class Taktos < Formula
  desc "Open network operating system for time-critical Ethernet"
  homepage "https://example.org/taktos"
  url "https://example.org/taktos-0.1.0-source.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"

  depends_on "rust" => :build
  depends_on :linux

  def install
    system "cargo", "install", "--locked", *std_cargo_args(path: "crates/taktos")
    generate_completions_from_executable(bin/"taktos", "completions")
    pkgshare.install "scenarios"
  end

  test do
    system bin/"taktos", "check", pkgshare/"scenarios/diamond.toml"
  end
end
