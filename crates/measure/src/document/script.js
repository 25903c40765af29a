// Lights a flow everywhere when it is pointed at or focused, and sorts tables.
(function () {
  var root = document.documentElement;
  var lit = [];
  function light(event) {
    var target = event.target.closest ? event.target.closest("[data-flow]") : null;
    lit.forEach(function (element) { element.classList.remove("lit"); });
    lit = [];
    root.classList.toggle("lighting", target !== null);
    if (target === null) return;
    var same = '[data-flow="' + target.getAttribute("data-flow") + '"]';
    lit = Array.prototype.slice.call(document.querySelectorAll(same));
    lit.forEach(function (element) { element.classList.add("lit"); });
  }
  document.addEventListener("mouseover", light);
  document.addEventListener("focusin", light);

  document.querySelectorAll("table.sortable th").forEach(function (head, column) {
    head.querySelector("button").addEventListener("click", function () {
      var body = head.closest("table").tBodies[0];
      var rows = Array.prototype.slice.call(body.rows);
      var upward = head.getAttribute("aria-sort") !== "ascending";
      head.parentNode.querySelectorAll("th").forEach(function (other) {
        other.removeAttribute("aria-sort");
      });
      head.setAttribute("aria-sort", upward ? "ascending" : "descending");
      rows.sort(function (one, other) {
        var a = one.cells[column], b = other.cells[column];
        var x = a.dataset.key, y = b.dataset.key;
        var order = x !== undefined && y !== undefined
          ? Number(x) - Number(y)
          : x !== undefined ? 1 : y !== undefined ? -1
          : a.textContent.localeCompare(b.textContent, undefined, { numeric: true });
        return upward ? order : -order;
      });
      rows.forEach(function (row) { body.appendChild(row); });
    });
  });
})();
