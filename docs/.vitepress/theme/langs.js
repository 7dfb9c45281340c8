/**
 * Takes the place of the theme's own composable of this name (config.mjs): the switch of languages leads to the same page
 * in the other language, or, where that is not translated, to the home page of that language instead of to nothing.
 */
import { useData } from 'vitepress';
import { computed } from 'vue';

export function useLangs({ correspondingLink = false } = {}) {
  const { site, localeIndex, page, theme, hash } = useData();
  const homeOf = (key) => (key === 'root' ? '/' : `/${key}/`);
  const currentLang = computed(() => ({
    label: site.value.locales[localeIndex.value]?.label,
    link: homeOf(localeIndex.value),
  }));
  const localeLinks = computed(() =>
    Object.entries(site.value.locales)
      .filter(([key]) => key !== localeIndex.value)
      .map(([key, { label }]) => {
        const home = homeOf(key);
        const place = `${home}${page.value.relativePath.slice(currentLang.value.link.length - 1)}`.slice(1);
        if (!correspondingLink || !theme.value.pages?.includes(place)) return { text: label, link: home };
        const address = place.replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '');
        return { text: label, link: `/${address}${hash.value}` };
      }),
  );
  return { localeLinks, currentLang };
}
