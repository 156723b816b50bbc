// What the scripts of pages share: numbers as texts, elements, colours of the style.

/** A number with a few digits, with a true minus sign; less than `least` is nothing. */
function shown(x, digits = 3, least = 0) {
  if (!Number.isFinite(x)) return "not a number";
  if (Math.abs(x) <= least) return "0";
  const size = Math.abs(x);
  const text = size !== 0 && (size < 1e-3 || size >= 1e6) ? x.toExponential(digits - 1)
    : x.toFixed(Math.max(0, Math.min(6, digits - 1 - Math.floor(Math.log10(Math.max(size, 0.01))))));
  return /[1-9]/.test(text) ? text.replaceAll("-", "−") : text.replace("-", "");
}

/** An element with properties and children; texts stay texts, whatever is in them. */
function make(tag, properties = {}, ...children) {
  const found = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key in found) found[key] = value; else found.setAttribute(key, value);
  }
  found.append(...children);
  return found;
}

/** A colour of the page's style, looked up once for each picture. */
const colours = new Map();
function styled(name) {
  if (!colours.has(name)) {
    colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  }
  return colours.get(name);
}
