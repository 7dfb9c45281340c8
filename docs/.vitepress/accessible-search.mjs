/**
 * A plugin for Vite that corrects the roles in the theme's search box: it says to be a button with everything inside, and its
 * results are options that contain links. It becomes a dialog with a list of links.
 */
const CORRECTIONS = [
  [
    /role="button"\s+:aria-owns="[^"]*"\s+aria-expanded="true"\s+aria-haspopup="listbox"\s+aria-labelledby="localsearch-label"/,
    'role="dialog" aria-modal="true" :aria-label="buttonText"',
  ],
  [
    /:aria-activedescendant="[^"]*"\s+aria-autocomplete="both"\s+:aria-controls="[^"]*"\s+aria-labelledby="localsearch-label"/,
    ':aria-label="buttonText"',
  ],
  [/:role="[^"]*'listbox'[^"]*"\s+:aria-labelledby="[^"]*"/, ''],
  [/:aria-selected="[^"]*"\s+role="option"/, ''],
  // The name of a result is what it shows.
  [/:aria-label="\[\.\.\.p\.titles, p\.title\]\.join\(' > '\)"/, ''],
  [/<kbd :aria-label/g, '<kbd role="img" :aria-label'],
  [/<span class="title-icon">/, '<span class="title-icon" aria-hidden="true">'],
];

/** @returns {import('vite').Plugin} */
export function accessibleSearch() {
  return {
    name: 'accessible-search',
    enforce: 'pre',
    transform(code, id) {
      if (!id.endsWith('/VPLocalSearchBox.vue')) return undefined;
      return CORRECTIONS.reduce((text, [found, put]) => {
        // Another version of the theme: see what it needs.
        if (text.search(found) < 0) throw new Error(`The search box of the theme has changed: no ${found}`);
        return text.replace(found, put);
      }, code);
    },
  };
}
