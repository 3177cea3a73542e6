// Runs beside pages in frames of several widths, and notes what each of them looks like.
const done = {};
const luminance = (color) => {
  const [r, g, b] = color
    .match(/[\d.]+/g)
    .slice(0, 3)
    .map((part) => part / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
for (const frame of document.querySelectorAll("iframe")) {
  const page = frame.contentDocument;
  const width = page.documentElement.clientWidth;
  const style = (node) => frame.contentWindow.getComputedStyle(node);
  const background = (node) => {
    for (let here = node; here; here = here.parentElement) {
      const color = style(here).backgroundColor;
      if (color !== "rgba(0, 0, 0, 0)") return color;
    }
    return "rgb(255, 255, 255)";
  };
  const contrast = (node) => {
    const [one, other] = [luminance(style(node).color), luminance(background(node))];
    return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  };
  const short = (nodes) => nodes.map((node) => node.outerHTML.slice(0, 100));
  const shown = [...page.querySelectorAll("body *")].filter((node) => node.getClientRects().length);
  const texts = shown.filter((node) =>
    [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.textContent.trim()),
  );
  const outside = (node) => !node.closest(".scroll") && node.getBoundingClientRect().right > width + 1;
  const cards = [...page.querySelectorAll("article")];
  done[frame.width] = {
    width,
    dark: luminance(background(page.body)) < 0.5,
    scrolls: page.documentElement.scrollWidth > width,
    cut: short(shown.filter(outside)),
    smallest: Math.min(...texts.map((node) => parseFloat(style(node).fontSize))),
    faint: short(texts.filter((node) => !node.closest("svg") && contrast(node) < 4.5)),
    broken: short([...page.querySelectorAll(".name:not(.long)")].filter((node) => node.getClientRects().length > 1)),
    first: Math.min(...[...page.querySelectorAll("article.unhealthy")].map((node) => node.getBoundingClientRect().top)),
    cards: cards.length,
    columns: new Set(cards.map((node) => node.getBoundingClientRect().left)).size,
    grid: page.querySelectorAll("svg rect").length,
  };
}
document.body.dataset.done = JSON.stringify(done);
