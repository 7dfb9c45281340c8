/**
 * The sidebar, made of the pages that there are: a section shows all pages of its folder. `order` lists those that come
 * first, without the ending; the others follow by title. A folder within it becomes a section within the section. Plain Node
 * without dependencies.
 */
import { API_FOLDER, addressOf, pageFiles, placeOf, titleOf } from './pages.mjs';

/**
 * @typedef {object} Section
 * @property {{ en: string, zh: string }} text
 * @property {string} folder of the site
 * @property {readonly string[]} order names of pages in this folder; `index` comes first without being listed
 * @property {boolean} [isOpen] whether it is unfolded on every page
 * @property {readonly Omit<Section, 'folder' | 'isOpen'>[]} [groups] pages of the folder under a heading of their own
 * @property {readonly string[]} [also] pages of other folders, with it
 */

/**
 * As VitePress takes it.
 *
 * @typedef {{ text: string, link?: string, collapsed?: boolean, items?: Item[] }} Item
 */

/** @type {readonly Section[]} */
const SECTIONS = [
  {
    text: { en: 'Introduction', zh: '介绍' },
    folder: 'introduction',
    order: ['why', 'quick-start', 'choosing-a-store', 'performance'],
    isOpen: true,
  },
  {
    text: { en: 'Guides', zh: '指南' },
    folder: 'guides',
    order: [],
    groups: [
      {
        text: { en: 'Locks', zh: '锁' },
        order: ['exclusive', 'kinds-of-lock', 're-entrant', 'fencing'],
      },
      {
        text: { en: 'Where to lock', zh: '在哪里加锁' },
        order: ['handlers-and-streams', 'transports', 'scheduled-jobs', 'leader-election', 'transactions'],
      },
      {
        text: { en: 'Set up and test', zh: '配置和测试' },
        order: ['configuration', 'inspecting', 'testing'],
      },
    ],
  },
  {
    text: { en: 'Examples', zh: '示例' },
    folder: 'examples',
    order: ['sample-app'],
  },
  {
    text: { en: 'Operations', zh: '运维' },
    folder: 'operations',
    order: ['kubernetes', 'monitoring', 'page', 'scaling', 'runbook', 'troubleshooting'],
  },
  {
    text: { en: 'Safety', zh: '安全性' },
    folder: 'safety',
    order: [],
  },
  {
    text: { en: 'Stores', zh: '存储' },
    folder: 'stores',
    order: ['redis', 'managed-services', 'postgres', 'etcd', 'zookeeper', 'redisson', 'custom-store'],
  },
  {
    text: { en: 'Coming from …', zh: '从其他库迁移' },
    folder: 'coming-from',
    order: ['redisson', 'node-libraries'],
  },
  {
    text: { en: 'Reference', zh: '参考' },
    folder: 'reference',
    order: ['behaviour', 'command-line'],
    also: ['reference/api/index.md'],
  },
  {
    text: { en: 'Internals', zh: '内部实现' },
    folder: 'internals',
    order: ['how-it-works', 'proof', 'bench', 'contributing'],
  },
];

/** Names of folders within a folder that have no page of their own to take it from. */
const TEXTS = { 'internals/decisions': { en: 'Decisions', zh: '设计决策' } };
const OVERVIEW = { en: 'Overview', zh: '概览' };

/** Pages beside the sections, after them. */
const LAST = ['upgrading.md', 'changelog.md', 'security.md'];
/** Pages that are reached in another way: the home page. */
const IN_NO_SECTION = ['index.md'];

const API_PLACE = placeOf(`${API_FOLDER}/README.md`).replace(/\/index\.md$/, '');

const by = (one, other) => one.localeCompare(other, 'en', { numeric: true });
const nameIn = (place) => place.replace(/^.*\/|\.md$/g, '');
const isIn = (folder, place) =>
  place.startsWith(`${folder}/`) && !place.slice(folder.length + 1).includes('/');

/**
 * The sidebar of a locale.
 *
 * @param {'en' | 'zh'} locale
 * @param {readonly string[]} [files] the pages, relative to the root of the repository
 * @returns {Item[]}
 */
export function sidebarOf(locale, files = pageFiles()) {
  const prefix = locale === 'en' ? '' : `${locale}/`;
  const titles = new Map(
    files
      .map((file) => [placeOf(file), file])
      .filter(([place]) => place.startsWith(prefix) && isInLocale(place, locale))
      .map(([place, file]) => [place, () => titleOf(file)]),
  );
  const item = (place) => ({ text: titles.get(place)(), link: addressOf(place) });
  const inOrder = (places, order) => {
    const rank = (place) => (order.includes(nameIn(place)) ? order.indexOf(nameIn(place)) : order.length);
    // Decisions and the like have their number in the name.
    const isNumbered = (place) => /\/\d+-[^/]+$/.test(place);
    return [...places].sort(
      (one, other) =>
        rank(one) - rank(other) ||
        (isNumbered(one) ? by(one, other) : by(titles.get(one)(), titles.get(other)())),
    );
  };

  function groupOf({ text, folder, order = [], groups = [], also = [], isOpen }) {
    const own = [...titles.keys()].filter((place) => isIn(prefix + folder, place));
    const isIndex = (place) => place.endsWith('/index.md');
    const grouped = groups.map((group) => ({
      text: group.text[locale],
      items: inOrder(
        own.filter((place) => group.order.includes(nameIn(place))),
        group.order,
      ).map(item),
    }));
    const isGrouped = (place) => groups.some((group) => group.order.includes(nameIn(place)));
    const rest = inOrder(
      own.filter((place) => !isIndex(place) && !isGrouped(place)),
      order,
    );
    const items = [
      ...own.filter(isIndex).map((place) => ({ ...item(place), text: OVERVIEW[locale] })),
      ...grouped.filter(({ items }) => items.length > 0),
      ...rest.map(item),
      ...also
        .map((place) => prefix + place)
        .filter((place) => titles.has(place))
        .map(item),
      ...foldersIn(folder)
        .map((inner) => groupOf({ text: TEXTS[inner] ?? textOf(inner), folder: inner }))
        .filter((group) => group !== undefined),
    ];
    if (items.length === 0) return undefined;
    const first = items[0].link ?? items[0].items[0].link;
    if (folder === 'reference' && locale === 'en') items.push(...apiEntries(files));
    // Headings lead to a page: otherwise their two buttons, one within the other, would confuse screen readers.
    return { text: text[locale], link: first, collapsed: isOpen !== true, items };
  }

  function foldersIn(folder) {
    const above = `${prefix}${folder}/`;
    const inner = [...titles.keys()]
      .filter((place) => place.startsWith(above) && place.slice(above.length).includes('/'))
      .map((place) => `${folder}/${place.slice(above.length).split('/')[0]}`);
    return [...new Set(inner)].filter((name) => name !== API_PLACE).sort();
  }

  /** The name of a folder: the title of its first page. */
  function textOf(folder) {
    const index = `${prefix}${folder}/index.md`;
    return { [locale]: titles.has(index) ? titles.get(index)() : folder.replace(/^.*\//, '') };
  }

  const last = LAST.map((place) => prefix + place).filter((place) => titles.has(place));
  return [...SECTIONS.map(groupOf).filter((group) => group !== undefined), ...last.map(item)];
}

/**
 * The sidebars of a locale by address, as VitePress takes them. Every page of the site repeats its sidebar, so the sections
 * of other pages are only headings, which lead there. `Introduction` is complete on every page.
 *
 * @param {'en' | 'zh'} locale
 * @param {readonly string[]} [files]
 * @returns {Record<string, Item[]>}
 */
export function sidebarsOf(locale, files = pageFiles()) {
  const above = locale === 'en' ? '/' : `/${locale}/`;
  const all = sidebarOf(locale, files);
  const texts = SECTIONS.map(({ text, folder, isOpen }) => ({ text: text[locale], folder, isOpen }));
  const around = (folder) =>
    all.map((item) => {
      const section = texts.find(({ text }) => text === item.text);
      if (section === undefined || section.isOpen) return item;
      if (section.folder === folder) return { ...item, collapsed: false };
      return { text: item.text, link: item.link };
    });
  return Object.fromEntries([
    [above, around(undefined)],
    ...texts.filter(({ isOpen }) => !isOpen).map(({ folder }) => [`${above}${folder}/`, around(folder)]),
  ]);
}

/**
 * The entries of the package, each with the page that lists its members. TypeDoc writes a page for each member: so many
 * that their sidebar has the entries only.
 *
 * @param {readonly string[]} [files]
 * @returns {Item[]}
 */
export function sidebarOfApi(files = pageFiles()) {
  return [{ text: 'Reference', link: '/reference/' }, ...apiEntries(files)];
}

/** The name of the package would break most of them into two lines. */
const shortNameOf = (entry) => entry.replace(/^[^/]+(?=\/)/, '…');

function apiEntries(files) {
  return files
    .filter((file) => file.startsWith(`${API_FOLDER}/`) && file !== `${API_FOLDER}/README.md`)
    .filter((file) => file.endsWith('/README.md'))
    .map((file) => ({ text: titleOf(file), link: addressOf(placeOf(file)) }))
    .sort((one, other) => by(one.text, other.text))
    .map(({ text, link }) => ({ text: shortNameOf(text), link }));
}

const isInLocale = (place, locale) => (place.startsWith('zh/') ? locale === 'zh' : locale === 'en');

/**
 * All addresses in a sidebar.
 *
 * @param {readonly Item[]} items
 * @returns {string[]}
 */
export function linksOf(items) {
  return items.flatMap(({ link, items: inner = [] }) => [...(link ? [link] : []), ...linksOf(inner)]);
}

/**
 * The pages that no sidebar shows.
 *
 * @param {readonly string[]} [files]
 * @returns {string[]}
 */
export function pagesWithoutSidebar(files = pageFiles()) {
  const shown = new Set(
    linksOf([...sidebarOf('en', files), ...sidebarOf('zh', files), ...sidebarOfApi(files)]),
  );
  return files.filter((file) => {
    const place = placeOf(file);
    const isMember = file.startsWith(`${API_FOLDER}/`) && !file.endsWith('/README.md');
    return !isMember && !IN_NO_SECTION.includes(place.replace(/^zh\//, '')) && !shown.has(addressOf(place));
  });
}
