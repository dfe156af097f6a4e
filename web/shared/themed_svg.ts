// One SVG that is light or dark as its reader's system is: the light one, with rules that turn its colours where dark is preferred. Both
// are the same drawing in two palettes. Readers that know no style sheets show the light one.
const COLOUR = /(fill|stroke)="(#[0-9a-fA-F]{3,8}|rgba?\([^)]*\))"/g;

export function themedSvg(light: string, dark: string): string {
  const [from, to] = [[...light.matchAll(COLOUR)], [...dark.matchAll(COLOUR)]];
  if (from.length !== to.length) throw new Error(`the light drawing has ${from.length} colours, the dark one ${to.length}: they are not the same drawing`);
  const rules = new Map<string, string>();
  from.forEach(([, property, colour], i) => {
    const selector = `[${property}="${colour}"]`;
    const rule = `${property}:${to[i]![2]}`;
    if (rules.has(selector) && rules.get(selector) !== rule) throw new Error(`${selector} is dark in two ways: ${rules.get(selector)} and ${rule}`);
    rules.set(selector, rule);
  });
  const turned = [...rules].filter(([selector, rule]) => !selector.endsWith(`="${rule.slice(rule.indexOf(':') + 1)}"]`));
  const style = turned.map(([selector, rule]) => `${selector}{${rule}}`).join('');
  return light.replace(/<svg [^>]*>/, (tag) => `${tag}<style>@media (prefers-color-scheme:dark){${style}}</style>`);
}
