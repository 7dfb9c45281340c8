import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { accessibleSearch } from './accessible-search.mjs';
import { anchorOf, siteLinks } from './links.mjs';
import { readManifest, settingsOf } from './manifest.mjs';
import { alertTitles, diagrams, emptyCorners, plainText } from './markdown.mjs';
import { API_FOLDER, addressOf, filesOffTheSite, pageFiles, placeOf, root } from './pages.mjs';
import { miniSearch } from './search.mjs';
import { sidebarOfApi, sidebarsOf } from './sidebar.mjs';
import { alertsInChinese, searchInChinese, themeInChinese } from './zh.mjs';

const TITLE = 'nestjs-distributed-lock';
const DESCRIPTION = 'Distributed locks for NestJS on Redis, PostgreSQL, etcd or ZooKeeper';

const { version, base, repository, sourceOf, editPattern } = settingsOf(readManifest(), process.env);
const files = pageFiles();
const places = new Set(files.map(placeOf));
const hasChinese = [...places].some((place) => place.startsWith('zh/'));

/** Links to nothing, as "page: link". They fail the build; while pages are edited, the terminal shows them. */
const dead = new Set();
const downloads = new Set();

/** A link of the menu, if that page is there in the language. */
function menuOf(locale) {
  const prefix = locale === 'en' ? '' : `${locale}/`;
  const entries = [
    [{ en: 'Quick start', zh: '快速开始' }, 'introduction/quick-start.md'],
    [{ en: 'Guides', zh: '指南' }, 'guides/index.md', 'guides'],
    [{ en: 'Operations', zh: '运维' }, 'operations/kubernetes.md', 'operations'],
    [{ en: 'Safety', zh: '安全性' }, 'safety/index.md', 'safety'],
    [{ en: 'Reference', zh: '参考（英文）' }, 'reference/index.md', 'reference'],
  ];
  return entries
    .map(([text, place, folder]) => ({
      text: text[locale],
      place: places.has(prefix + place) ? prefix + place : place,
      folder,
    }))
    .filter(({ place }) => places.has(place))
    .map(({ text, place, folder }) => ({
      text,
      link: addressOf(place),
      ...(folder && { activeMatch: `^${prefix && `/zh`}/${folder}/` }),
    }));
}

/** The version leads to what changed in it. */
const versionLink = { text: `v${version}`, link: '/changelog' };

const locales = {
  root: { label: 'English', lang: 'en-US' },
  ...(hasChinese && {
    zh: {
      label: '简体中文',
      lang: 'zh-CN',
      link: '/zh/',
      description: 'NestJS 分布式锁：支持 Redis、PostgreSQL、etcd 和 ZooKeeper',
      themeConfig: {
        ...themeInChinese,
        nav: [...menuOf('zh'), versionLink],
        ...(editPattern && { editLink: { pattern: editPattern, text: '编辑此页' } }),
      },
    },
  }),
};

export default defineConfig({
  title: TITLE,
  description: DESCRIPTION,
  base,
  locales,
  cleanUrls: true,
  // The root of the repository: some pages stand outside of docs/.
  srcDir: '..',
  srcExclude: filesThatAreNoPages(),
  rewrites: (file) => placeOf(file) ?? file,
  // The links of pages are checked in links.mjs, with the files that they lead to.
  ignoreDeadLinks: true,
  metaChunk: true,
  head: [['link', { rel: 'icon', href: `${base}favicon.svg`, type: 'image/svg+xml' }]],
  markdown: {
    // Their colours have enough contrast.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: anchorOf },
    config: (md) => {
      md.use(plainText);
      md.use(diagrams);
      md.use(emptyCorners);
      md.use(alertTitles, { zh: alertsInChinese });
      md.use(siteLinks, {
        sourceOf,
        base,
        onDead: (link) => {
          if (!dead.has(link)) console.error(`A link leads to no file: ${link}`);
          dead.add(link);
        },
        onDownload: (file) => downloads.add(file),
      });
    },
  },
  vite: {
    plugins: [accessibleSearch()],
    publicDir: fileURLToPath(new URL('public', import.meta.url)),
    resolve: {
      alias: [
        {
          // Without a landmark of the main content.
          find: /^.*\/VPHome\.vue$/,
          replacement: fileURLToPath(new URL('theme/HomePage.vue', import.meta.url)),
        },
        {
          // The switch of languages: see there.
          find: /^.*\/composables\/langs$/,
          replacement: fileURLToPath(new URL('theme/langs.js', import.meta.url)),
        },
      ],
    },
    build: { chunkSizeWarningLimit: 2_000 },
  },
  themeConfig: {
    outline: { level: [2, 3] },
    nav: [...menuOf('en'), versionLink],
    sidebar: {
      ...sidebarsOf('en', files),
      '/reference/api/': sidebarOfApi(files),
      ...(hasChinese && sidebarsOf('zh', files)),
    },
    search: {
      provider: 'local',
      options: {
        locales: { zh: searchInChinese },
        miniSearch,
        // Of the many pages about types, only what they are.
        _render: (text, env, md) => {
          const html = md.render(text, env);
          return env.relativePath.includes('reference/api/') ? html.replace(/<h2[^]*$/, '') : html;
        },
      },
    },
    ...(editPattern && { editLink: { pattern: editPattern } }),
    ...(repository && {
      socialLinks: [{ icon: repository.includes('gitlab') ? 'gitlab' : 'github', link: repository }],
    }),
    // For theme/langs.js.
    pages: hasChinese ? [...places].filter((place) => !place.startsWith('reference/api/')) : [],
  },
  transformPageData: (page) => {
    // Written by TypeDoc, and most are in no sidebar, whose first page would be the next one of each.
    if (page.filePath.startsWith(`${API_FOLDER}/`))
      Object.assign(page.frontmatter, { editLink: false, prev: false, next: false });
  },
  buildEnd: ({ outDir }) => {
    if (dead.size > 0) throw new Error(`${dead.size} links lead to no file; they are above.`);
    for (const file of downloads) {
      mkdirSync(dirname(join(outDir, file)), { recursive: true });
      copyFileSync(join(root, 'docs', file), join(outDir, file));
    }
  },
});

/** What VitePress must not take for pages, as it looks for them in the whole repository. Its patterns know no "all but". */
function filesThatAreNoPages() {
  const withPages = ['docs', 'examples', 'sample-app', 'bench'];
  const entries = readdirSync(root, { withFileTypes: true });
  return [
    ...entries
      .filter((entry) => entry.isDirectory() && !withPages.includes(entry.name))
      .map(({ name }) => `${name}/**`),
    ...entries
      .filter(({ name }) => name.endsWith('.md') && placeOf(name) === undefined)
      .map(({ name }) => name),
    ...filesOffTheSite(),
    'bench/RESULTS.md',
    'bench/*/**',
    'examples/*/*/**',
    'sample-app/*/**',
  ];
}
