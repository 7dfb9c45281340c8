// docs/.vitepress/config.mjs
import { copyFileSync, mkdirSync, readdirSync as readdirSync2 } from "node:fs";
import { dirname as dirname2, join as join4 } from "node:path";
import { fileURLToPath as fileURLToPath2 } from "node:url";
import { defineConfig } from "file:///work/wt/pages/docs/.vitepress/node_modules/vitepress/dist/node/index.js";

// docs/.vitepress/accessible-search.mjs
var CORRECTIONS = [
  [
    /role="button"\s+:aria-owns="[^"]*"\s+aria-expanded="true"\s+aria-haspopup="listbox"\s+aria-labelledby="localsearch-label"/,
    'role="dialog" aria-modal="true" :aria-label="buttonText"'
  ],
  [
    /:aria-activedescendant="[^"]*"\s+aria-autocomplete="both"\s+:aria-controls="[^"]*"\s+aria-labelledby="localsearch-label"/,
    ':aria-label="buttonText"'
  ],
  [/:role="[^"]*'listbox'[^"]*"\s+:aria-labelledby="[^"]*"/, ""],
  [/:aria-selected="[^"]*"\s+role="option"/, ""],
  // The name of a result is what it shows.
  [/:aria-label="\[\.\.\.p\.titles, p\.title\]\.join\(' > '\)"/, ""],
  [/<kbd :aria-label/g, '<kbd role="img" :aria-label'],
  [/<span class="title-icon">/, '<span class="title-icon" aria-hidden="true">']
];
function accessibleSearch() {
  return {
    name: "accessible-search",
    enforce: "pre",
    transform(code, id) {
      if (!id.endsWith("/VPLocalSearchBox.vue")) return void 0;
      return CORRECTIONS.reduce((text, [found, put]) => {
        if (text.search(found) < 0) throw new Error(`The search box of the theme has changed: no ${found}`);
        return text.replace(found, put);
      }, code);
    }
  };
}

// docs/.vitepress/links.mjs
import { existsSync as existsSync2, statSync as statSync2 } from "node:fs";
import { dirname, join as join2, posix } from "node:path";

// docs/.vitepress/pages.mjs
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
var __vite_injected_original_import_meta_url = "file:///work/wt/pages/docs/.vitepress/pages.mjs";
var root = fileURLToPath(new URL("../..", __vite_injected_original_import_meta_url));
var API_FOLDER = "docs/reference/api";
var ELSEWHERE = [
  [/^examples\/README\.md$/, "examples/index.md"],
  [/^examples\/([\w-]+)\/README\.md$/, "examples/$1.md"],
  [/^sample-app\/README\.md$/, "examples/sample-app.md"],
  [/^bench\/README\.md$/, "internals/bench.md"],
  [/^CONTRIBUTING\.md$/, "internals/contributing.md"],
  [/^SECURITY\.md$/, "security.md"],
  [/^CHANGELOG\.md$/, "changelog.md"]
];
var OFF_THE_SITE = /^docs\/internals\/(?!(README|how-it-works|life-of-a-lock|proof)\.md$)/;
var FOLDERS = ["docs", "examples", "sample-app", "bench", "."];
function placeOf(file) {
  if (file.startsWith("docs/.vitepress/") || OFF_THE_SITE.test(file)) return void 0;
  if (/^docs\/.*\.md$/.test(file))
    return file.slice("docs/".length).replace(/(^|\/)README\.md$/, "$1index.md");
  const [pattern, place] = ELSEWHERE.find(([pattern2]) => pattern2.test(file)) ?? [];
  return pattern && file.replace(pattern, place);
}
function addressOf(place) {
  return `/${place.replace(/(^|\/)index\.md$/, "$1").replace(/\.md$/, "")}`;
}
function pageFiles() {
  return markdownFiles().filter((file) => placeOf(file) !== void 0).sort();
}
function filesOffTheSite() {
  return walk("docs").filter((file) => OFF_THE_SITE.test(file));
}
function markdownFiles() {
  const examples = readdirSync(join(root, "examples")).map((name) => `examples/${name}`);
  return [...walk("docs"), ...[...FOLDERS, ...examples].flatMap((folder) => markdownIn(folder))];
}
function walk(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).filter((entry) => entry.isDirectory() && entry.name !== ".vitepress").flatMap(({ name }) => [...markdownIn(`${folder}/${name}`), ...walk(`${folder}/${name}`)]);
}
function markdownIn(folder) {
  if (!statSync(join(root, folder)).isDirectory()) return [];
  return readdirSync(join(root, folder)).filter((name) => name.endsWith(".md")).map((name) => folder === "." ? name : `${folder}/${name}`);
}
function isPage(file) {
  return placeOf(file) !== void 0 && existsSync(join(root, file));
}
function readPage(file) {
  return readFileSync(join(root, file), "utf8");
}
function titleOf(file) {
  const text = readPage(file);
  const title = text.match(/^---\n[^]*?^title: *['"]?(.+?)['"]? *$[^]*?^---$/m)?.[1] ?? text.match(/^# +(.+?) *#*$/m)?.[1];
  if (title === void 0) throw new Error(`${file} has no heading that starts with "# "`);
  return title.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/\\(.)/g, "$1").replace(/[`*]/g, "");
}

// docs/.vitepress/links.mjs
var DOWNLOADS = /\.(json|yaml|sql)$/;
var HOME = { "README.md": "/", "README.zh-CN.md": "/zh/" };
function linkOf(page, href, sourceOf2) {
  if (/^[a-z][a-z+.-]*:/i.test(href) || href.startsWith("#")) return { href };
  const [, path, anchor = ""] = /^([^#]*)(#.*)?$/.exec(href);
  const file = fileOf(page, decodeURI(path));
  if (file === void 0) return { dead: true };
  if (HOME[file] !== void 0) return { href: HOME[file] };
  const target = pageOf(file);
  if (target !== void 0) return { href: addressOf(placeOf(target)) + anchor };
  if (file.startsWith("docs/") && DOWNLOADS.test(file)) {
    const download = file.slice("docs/".length);
    return { href: `/${download}`, download };
  }
  const source = sourceOf2(file);
  return source === void 0 ? { text: true } : { href: source + anchor };
}
function fileOf(page, path) {
  const named = posix.join(posix.dirname(page), path);
  const candidates = [named, named.replace(/^docs\/zh\//, "docs/")];
  return candidates.find((file) => !file.startsWith("..") && existsSync2(join2(root, file)));
}
function pageOf(file) {
  if (!statSync2(join2(root, file)).isDirectory()) return isPage(file) ? file : void 0;
  const folder = file.replace(/\/$/, "");
  if (isPage(`${folder}/README.md`)) return `${folder}/README.md`;
  return pageFiles().find((page) => dirname(page) === folder);
}
function siteLinks(md, { sourceOf: sourceOf2, base: base2, onDead, onDownload }) {
  md.core.ruler.push("site_links", (state) => {
    const { realPath, path } = state.env;
    const file = realPath ?? path;
    if (file === void 0) return;
    const page = posix.normalize(file.slice(root.length).replaceAll("\\", "/"));
    for (const { children } of state.tokens) {
      if (!children) continue;
      const isText = [];
      for (const token of children) {
        if (token.type === "link_close" && isText.pop()) toSpan(token);
        if (token.type !== "link_open") continue;
        const href = token.attrGet("href");
        const link = linkOf(page, href, sourceOf2);
        if (link.dead) onDead(`${page}: ${href}`);
        isText.push(link.href === void 0);
        if (link.href === void 0) toSpan(token);
        else token.attrSet("href", link.href);
        if (link.download !== void 0) {
          token.attrSet("download", "");
          token.attrSet("href", base2 + link.download);
          onDownload(link.download);
        }
      }
    }
  });
}
function toSpan(token) {
  token.type = token.nesting === 1 ? "text_link_open" : "text_link_close";
  token.tag = "span";
  token.attrs = null;
}
function anchorOf(heading) {
  return heading.trim().toLowerCase().replace(/[^\p{L}\p{N}\p{M}_ -]/gu, "").replaceAll(" ", "-");
}

// docs/.vitepress/manifest.mjs
import { readFileSync as readFileSync2 } from "node:fs";
import { join as join3 } from "node:path";
var BRANCH = "main";
function settingsOf(manifest, env = {}) {
  const repository2 = env["DOCS_REPOSITORY"] || webAddressOf(manifest.repository);
  return {
    version: manifest.version,
    base: baseOf(env["DOCS_BASE"] ?? pathOf(manifest.homepage)),
    ...repository2 && { repository: repository2, editPattern: `${repository2}/edit/${BRANCH}/:path` },
    sourceOf: (file) => repository2 && `${repository2}/blob/${BRANCH}/${file.replace(/\/$/, "")}`
  };
}
function webAddressOf(repository2) {
  const url = typeof repository2 === "string" ? repository2 : repository2?.url;
  if (!url) return void 0;
  const short = /^(?:(github|gitlab|bitbucket):)?([\w.-]+\/[\w.-]+)$/.exec(url);
  if (short) {
    const [, host = "github", name] = short;
    return `https://${host}.${host === "bitbucket" ? "org" : "com"}/${name}`;
  }
  return url.replace(/^git\+/, "").replace(/^(?:ssh|git):\/\/(?:git@)?/, "https://").replace(/^git@([^:/]+):/, "https://$1/").replace(/\.git$/, "").replace(/\/$/, "");
}
function pathOf(homepage) {
  if (!homepage || homepage.includes("#")) return "/";
  return new URL(homepage).pathname;
}
var baseOf = (path) => `/${path.replace(/^\/|\/$/g, "")}/`.replace("//", "/");
var readManifest = () => JSON.parse(readFileSync2(join3(root, "package.json"), "utf8"));

// docs/.vitepress/markdown.mjs
import { renderMermaidSVG } from "file:///work/wt/pages/docs/.vitepress/node_modules/beautiful-mermaid/dist/index.js";
var INLINE_HTML = /^<\/?(a|abbr|br|code|em|img|kbd|span|strong|sub|sup)\b/i;
function plainText(md) {
  const { text } = md.renderer.rules;
  md.renderer.rules.text = (...args) => text(...args).replaceAll("{{", "&#123;&#123;");
  md.core.ruler.push("plain_text", (state) => {
    for (const { children } of state.tokens) {
      for (const token of children ?? []) {
        if (token.type !== "html_inline" || token.content.startsWith("<!--")) continue;
        if (!INLINE_HTML.test(token.content)) token.type = "text";
      }
    }
  });
}
function emptyCorners(md) {
  md.core.ruler.push("empty_corners", ({ tokens }) => {
    tokens.forEach((token, index) => {
      if (token.type !== "th_open" || tokens[index + 1].content !== "") return;
      token.tag = tokens[index + 2].tag = "td";
    });
  });
}
function alertTitles(md, titles) {
  md.core.ruler.push("alert_titles", ({ tokens, env }) => {
    const own = titles[env.localeIndex] ?? {};
    for (const { type, meta } of tokens) {
      if (type === "github_alert_open") meta.title = own[meta.type] ?? meta.title;
    }
  });
}
function diagrams(md) {
  const { fence } = md.renderer.rules;
  let count = 0;
  md.renderer.rules.fence = (...args) => {
    const [tokens, index] = args;
    const { info, content } = tokens[index];
    if (info.trim() !== "mermaid") return fence(...args);
    count += 1;
    return drawn(content, `diagram-${count}`);
  };
}
function drawn(source, id) {
  const title = /^\s*accTitle: *(.+?) *$/m.exec(source)?.[1];
  if (title === void 0) throw new Error(`A diagram has no line "accTitle: \u2026":
${source}`);
  const colours = { bg: "var(--vp-c-bg)", fg: "var(--vp-c-text-1)", transparent: true };
  const svg = renderMermaidSVG(source.replace(/^\s*accTitle:.*\n/m, ""), colours).replace(/<style>[^]*?<\/style>/g, "").replace(/ style="--bg[^"]*"/, "").replace(/ id="([^"]+)"/g, ` id="${id}-$1"`).replace(/url\(#([^)]+)\)/g, `url(#${id}-$1)`).replace("<svg ", `<svg role="img" aria-label="${escaped(title)}" `);
  return `<div class="diagram" tabindex="0" v-pre>${svg}</div>
`;
}
var escaped = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

// docs/.vitepress/search.mjs
var miniSearch = {
  options: {
    // Chinese has no spaces between words: each character is one. (VitePress sends this function to the browser.)
    tokenize: (text) => text.split(/[\n\r\p{Z}\p{P}\p{S}]+|(?<=\p{Script=Han})|(?=\p{Script=Han})/u).filter((word) => word !== "")
  },
  searchOptions: {
    // A line of a log has words that no page has, such as a key.
    combineWith: "OR",
    // One wrong letter, or two in long words: "deadlock" is not "redlock".
    fuzzy: 0.15,
    // What readers look for is rather in a guide than in one of many types, in an example or in a page for maintainers.
    boostDocument: (id) => /\/reference\/api\//.test(id) ? 0.5 : /\/internals\/|\/changelog|\/examples\//.test(id) ? 0.2 : 1
  }
};

// docs/.vitepress/sidebar.mjs
var SECTIONS = [
  {
    text: { en: "Introduction", zh: "\u4ECB\u7ECD" },
    folder: "introduction",
    order: ["why", "quick-start", "choosing-a-store", "performance"],
    isOpen: true
  },
  {
    text: { en: "Guides", zh: "\u6307\u5357" },
    folder: "guides",
    order: [],
    groups: [
      {
        text: { en: "Kinds of lock", zh: "\u9501\u7684\u79CD\u7C7B" },
        order: ["exclusive", "re-entrant", "fair", "read-write", "semaphore", "several-keys"]
      },
      {
        text: { en: "Patterns", zh: "\u5E38\u89C1\u95EE\u9898" },
        order: [
          "payments",
          "transactions",
          "scheduled-jobs",
          "leader-election",
          "fencing",
          "store-unavailable",
          "inspecting"
        ]
      },
      {
        text: { en: "Features", zh: "\u529F\u80FD" },
        order: [
          "lock-service",
          "handlers-and-streams",
          "transports",
          "bullmq",
          "decorators",
          "configuration",
          "one-lock-with-java",
          "events"
        ]
      },
      {
        text: { en: "Tests", zh: "\u6D4B\u8BD5" },
        order: ["testing", "testing-failures"]
      }
    ]
  },
  {
    text: { en: "Examples", zh: "\u793A\u4F8B" },
    folder: "examples",
    order: ["sample-app"]
  },
  {
    text: { en: "Operations", zh: "\u8FD0\u7EF4" },
    folder: "operations",
    order: ["kubernetes", "monitoring", "page", "scaling", "runbook", "troubleshooting"]
  },
  {
    text: { en: "Safety", zh: "\u5B89\u5168\u6027" },
    folder: "safety",
    order: []
  },
  {
    text: { en: "Stores", zh: "\u5B58\u50A8" },
    folder: "stores",
    order: [
      "redis",
      "managed-services",
      "postgres",
      "etcd",
      "zookeeper",
      "redisson",
      "custom-store"
    ]
  },
  {
    text: { en: "Coming from \u2026", zh: "\u4ECE\u5176\u4ED6\u5E93\u8FC1\u79FB" },
    folder: "coming-from",
    order: ["redisson", "java", "node-libraries"]
  },
  {
    text: { en: "Reference", zh: "\u53C2\u8003" },
    folder: "reference",
    order: ["behaviour", "command-line"],
    also: ["reference/api/index.md"]
  },
  {
    text: { en: "Internals", zh: "\u5185\u90E8\u5B9E\u73B0" },
    folder: "internals",
    order: ["how-it-works", "life-of-a-lock", "proof", "bench", "contributing"]
  }
];
var TEXTS = { "internals/decisions": { en: "Decisions", zh: "\u8BBE\u8BA1\u51B3\u7B56" } };
var OVERVIEW = { en: "Overview", zh: "\u6982\u89C8" };
var LAST = ["upgrading.md", "changelog.md", "security.md"];
var API_PLACE = placeOf(`${API_FOLDER}/README.md`).replace(/\/index\.md$/, "");
var by = (one, other) => one.localeCompare(other, "en", { numeric: true });
var nameIn = (place) => place.replace(/^.*\/|\.md$/g, "");
var isIn = (folder, place) => place.startsWith(`${folder}/`) && !place.slice(folder.length + 1).includes("/");
function sidebarOf(locale, files2 = pageFiles()) {
  const prefix = locale === "en" ? "" : `${locale}/`;
  const titles = new Map(
    files2.map((file) => [placeOf(file), file]).filter(([place]) => place.startsWith(prefix) && isInLocale(place, locale)).map(([place, file]) => [place, () => titleOf(file)])
  );
  const item = (place) => ({ text: titles.get(place)(), link: addressOf(place) });
  const inOrder = (places2, order) => {
    const rank = (place) => order.includes(nameIn(place)) ? order.indexOf(nameIn(place)) : order.length;
    const isNumbered = (place) => /\/\d+-[^/]+$/.test(place);
    return [...places2].sort(
      (one, other) => rank(one) - rank(other) || (isNumbered(one) ? by(one, other) : by(titles.get(one)(), titles.get(other)()))
    );
  };
  function groupOf({ text, folder, order = [], groups = [], also = [], isOpen }) {
    const own = [...titles.keys()].filter((place) => isIn(prefix + folder, place));
    const isIndex = (place) => place.endsWith("/index.md");
    const grouped = groups.map((group) => ({
      text: group.text[locale],
      items: inOrder(
        own.filter((place) => group.order.includes(nameIn(place))),
        group.order
      ).map(item)
    }));
    const isGrouped = (place) => groups.some((group) => group.order.includes(nameIn(place)));
    const rest = inOrder(
      own.filter((place) => !isIndex(place) && !isGrouped(place)),
      order
    );
    const items = [
      ...own.filter(isIndex).map((place) => ({ ...item(place), text: OVERVIEW[locale] })),
      ...grouped.filter(({ items: items2 }) => items2.length > 0),
      ...rest.map(item),
      ...also.map((place) => prefix + place).filter((place) => titles.has(place)).map(item),
      ...foldersIn(folder).map((inner) => groupOf({ text: TEXTS[inner] ?? textOf(inner), folder: inner })).filter((group) => group !== void 0)
    ];
    if (items.length === 0) return void 0;
    const first = items[0].link ?? items[0].items[0].link;
    if (folder === "reference" && locale === "en") items.push(...apiEntries(files2));
    return { text: text[locale], link: first, collapsed: isOpen !== true, items };
  }
  function foldersIn(folder) {
    const above = `${prefix}${folder}/`;
    const inner = [...titles.keys()].filter((place) => place.startsWith(above) && place.slice(above.length).includes("/")).map((place) => `${folder}/${place.slice(above.length).split("/")[0]}`);
    return [...new Set(inner)].filter((name) => name !== API_PLACE).sort();
  }
  function textOf(folder) {
    const index = `${prefix}${folder}/index.md`;
    return { [locale]: titles.has(index) ? titles.get(index)() : folder.replace(/^.*\//, "") };
  }
  const last = LAST.map((place) => prefix + place).filter((place) => titles.has(place));
  return [...SECTIONS.map(groupOf).filter((group) => group !== void 0), ...last.map(item)];
}
function sidebarsOf(locale, files2 = pageFiles()) {
  const above = locale === "en" ? "/" : `/${locale}/`;
  const all = sidebarOf(locale, files2);
  const texts = SECTIONS.map(({ text, folder, isOpen }) => ({ text: text[locale], folder, isOpen }));
  const around = (folder) => all.map((item) => {
    const section = texts.find(({ text }) => text === item.text);
    if (section === void 0 || section.isOpen) return item;
    if (section.folder === folder) return { ...item, collapsed: false };
    return { text: item.text, link: item.link };
  });
  return Object.fromEntries([
    [above, around(void 0)],
    ...texts.filter(({ isOpen }) => !isOpen).map(({ folder }) => [`${above}${folder}/`, around(folder)])
  ]);
}
function sidebarOfApi(files2 = pageFiles()) {
  return [{ text: "Reference", link: "/reference/" }, ...apiEntries(files2)];
}
var shortNameOf = (entry) => entry.replace(/^[^/]+(?=\/)/, "\u2026");
function apiEntries(files2) {
  return files2.filter((file) => file.startsWith(`${API_FOLDER}/`) && file !== `${API_FOLDER}/README.md`).filter((file) => file.endsWith("/README.md")).map((file) => ({ text: titleOf(file), link: addressOf(placeOf(file)) })).sort((one, other) => by(one.text, other.text)).map(({ text, link }) => ({ text: shortNameOf(text), link }));
}
var isInLocale = (place, locale) => place.startsWith("zh/") ? locale === "zh" : locale === "en";

// docs/.vitepress/zh.mjs
var themeInChinese = {
  outline: { level: [2, 3], label: "\u672C\u9875\u76EE\u5F55" },
  docFooter: { prev: "\u4E0A\u4E00\u9875", next: "\u4E0B\u4E00\u9875" },
  darkModeSwitchLabel: "\u4E3B\u9898",
  lightModeSwitchTitle: "\u5207\u6362\u5230\u6D45\u8272\u6A21\u5F0F",
  darkModeSwitchTitle: "\u5207\u6362\u5230\u6DF1\u8272\u6A21\u5F0F",
  sidebarMenuLabel: "\u83DC\u5355",
  returnToTopLabel: "\u56DE\u5230\u9876\u90E8",
  langMenuLabel: "\u5207\u6362\u8BED\u8A00",
  skipToContentLabel: "\u8DF3\u8F6C\u5230\u5185\u5BB9",
  notFound: {
    title: "\u9875\u9762\u672A\u627E\u5230",
    quote: "\u8FD9\u4E2A\u5730\u5740\u6CA1\u6709\u5BF9\u5E94\u7684\u9875\u9762\u3002",
    linkLabel: "\u524D\u5F80\u9996\u9875",
    linkText: "\u8FD4\u56DE\u9996\u9875"
  }
};
var alertsInChinese = {
  note: "\u8BF4\u660E",
  tip: "\u63D0\u793A",
  important: "\u91CD\u8981",
  warning: "\u8B66\u544A",
  caution: "\u6CE8\u610F"
};
var searchInChinese = {
  translations: {
    button: { buttonText: "\u641C\u7D22", buttonAriaLabel: "\u641C\u7D22\u6587\u6863" },
    modal: {
      displayDetails: "\u663E\u793A\u8BE6\u7EC6\u5217\u8868",
      resetButtonTitle: "\u6E05\u9664\u67E5\u8BE2\u6761\u4EF6",
      backButtonTitle: "\u5173\u95ED\u641C\u7D22",
      noResultsText: "\u6CA1\u6709\u627E\u5230\u76F8\u5173\u7ED3\u679C",
      footer: {
        selectText: "\u9009\u62E9",
        selectKeyAriaLabel: "\u56DE\u8F66",
        navigateText: "\u5207\u6362",
        navigateUpKeyAriaLabel: "\u4E0A\u7BAD\u5934",
        navigateDownKeyAriaLabel: "\u4E0B\u7BAD\u5934",
        closeText: "\u5173\u95ED",
        closeKeyAriaLabel: "Esc"
      }
    }
  }
};

// docs/.vitepress/config.mjs
var __vite_injected_original_import_meta_url2 = "file:///work/wt/pages/docs/.vitepress/config.mjs";
var TITLE = "nestjs-distributed-lock";
var DESCRIPTION = "Distributed locks for NestJS on Redis, PostgreSQL, etcd or ZooKeeper";
var { version, base, repository, sourceOf, editPattern } = settingsOf(readManifest(), process.env);
var files = pageFiles();
var places = new Set(files.map(placeOf));
var hasChinese = [...places].some((place) => place.startsWith("zh/"));
var dead = /* @__PURE__ */ new Set();
var downloads = /* @__PURE__ */ new Set();
function menuOf(locale) {
  const prefix = locale === "en" ? "" : `${locale}/`;
  const entries = [
    [{ en: "Quick start", zh: "\u5FEB\u901F\u5F00\u59CB" }, "introduction/quick-start.md"],
    [{ en: "Guides", zh: "\u6307\u5357" }, "guides/index.md", "guides"],
    [{ en: "Operations", zh: "\u8FD0\u7EF4" }, "operations/kubernetes.md", "operations"],
    [{ en: "Safety", zh: "\u5B89\u5168\u6027" }, "safety/index.md", "safety"],
    [{ en: "Reference", zh: "\u53C2\u8003\uFF08\u82F1\u6587\uFF09" }, "reference/index.md", "reference"]
  ];
  return entries.map(([text, place, folder]) => ({
    text: text[locale],
    place: places.has(prefix + place) ? prefix + place : place,
    folder
  })).filter(({ place }) => places.has(place)).map(({ text, place, folder }) => ({
    text,
    link: addressOf(place),
    ...folder && { activeMatch: `^${prefix && `/zh`}/${folder}/` }
  }));
}
var versionLink = { text: `v${version}`, link: "/changelog" };
var locales = {
  root: { label: "English", lang: "en-US" },
  ...hasChinese && {
    zh: {
      label: "\u7B80\u4F53\u4E2D\u6587",
      lang: "zh-CN",
      link: "/zh/",
      description: "NestJS \u5206\u5E03\u5F0F\u9501\uFF1A\u652F\u6301 Redis\u3001PostgreSQL\u3001etcd \u548C ZooKeeper",
      themeConfig: {
        ...themeInChinese,
        nav: [...menuOf("zh"), versionLink],
        ...editPattern && { editLink: { pattern: editPattern, text: "\u7F16\u8F91\u6B64\u9875" } }
      }
    }
  }
};
var config_default = defineConfig({
  title: TITLE,
  description: DESCRIPTION,
  base,
  locales,
  cleanUrls: true,
  // The root of the repository: some pages stand outside of docs/.
  srcDir: "..",
  srcExclude: filesThatAreNoPages(),
  rewrites: (file) => placeOf(file) ?? file,
  // The links of pages are checked in links.mjs, with the files that they lead to.
  ignoreDeadLinks: true,
  metaChunk: true,
  head: [["link", { rel: "icon", href: `${base}favicon.svg`, type: "image/svg+xml" }]],
  markdown: {
    // Their colours have enough contrast.
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
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
        onDownload: (file) => downloads.add(file)
      });
    }
  },
  vite: {
    plugins: [accessibleSearch()],
    publicDir: fileURLToPath2(new URL("public", __vite_injected_original_import_meta_url2)),
    resolve: {
      alias: [
        {
          // Without a landmark of the main content.
          find: /^.*\/VPHome\.vue$/,
          replacement: fileURLToPath2(new URL("theme/HomePage.vue", __vite_injected_original_import_meta_url2))
        },
        {
          // The switch of languages: see there.
          find: /^.*\/composables\/langs$/,
          replacement: fileURLToPath2(new URL("theme/langs.js", __vite_injected_original_import_meta_url2))
        }
      ]
    },
    build: { chunkSizeWarningLimit: 2e3 }
  },
  themeConfig: {
    outline: { level: [2, 3] },
    nav: [...menuOf("en"), versionLink],
    sidebar: {
      ...sidebarsOf("en", files),
      "/reference/api/": sidebarOfApi(files),
      ...hasChinese && sidebarsOf("zh", files)
    },
    search: {
      provider: "local",
      options: {
        locales: { zh: searchInChinese },
        miniSearch,
        // Of the many pages about types, only what they are.
        _render: (text, env, md) => {
          const html = md.render(text, env);
          return env.relativePath.includes("reference/api/") ? html.replace(/<h2[^]*$/, "") : html;
        }
      }
    },
    ...editPattern && { editLink: { pattern: editPattern } },
    ...repository && {
      socialLinks: [{ icon: repository.includes("gitlab") ? "gitlab" : "github", link: repository }]
    },
    // For theme/langs.js.
    pages: hasChinese ? [...places].filter((place) => !place.startsWith("reference/api/")) : []
  },
  transformPageData: (page) => {
    if (page.filePath.startsWith(`${API_FOLDER}/`))
      Object.assign(page.frontmatter, { editLink: false, prev: false, next: false });
  },
  buildEnd: ({ outDir }) => {
    if (dead.size > 0) throw new Error(`${dead.size} links lead to no file; they are above.`);
    for (const file of downloads) {
      mkdirSync(dirname2(join4(outDir, file)), { recursive: true });
      copyFileSync(join4(root, "docs", file), join4(outDir, file));
    }
  }
});
function filesThatAreNoPages() {
  const withPages = ["docs", "examples", "sample-app", "bench"];
  const entries = readdirSync2(root, { withFileTypes: true });
  return [
    ...entries.filter((entry) => entry.isDirectory() && !withPages.includes(entry.name)).map(({ name }) => `${name}/**`),
    ...entries.filter(({ name }) => name.endsWith(".md") && placeOf(name) === void 0).map(({ name }) => name),
    ...filesOffTheSite(),
    "bench/RESULTS.md",
    "bench/*/**",
    "examples/*/*/**",
    "sample-app/*/**"
  ];
}
export {
  config_default as default
};
//# sourceMappingURL=data:application/json;base64,ewogICJ2ZXJzaW9uIjogMywKICAic291cmNlcyI6IFsiZG9jcy8udml0ZXByZXNzL2NvbmZpZy5tanMiLCAiZG9jcy8udml0ZXByZXNzL2FjY2Vzc2libGUtc2VhcmNoLm1qcyIsICJkb2NzLy52aXRlcHJlc3MvbGlua3MubWpzIiwgImRvY3MvLnZpdGVwcmVzcy9wYWdlcy5tanMiLCAiZG9jcy8udml0ZXByZXNzL21hbmlmZXN0Lm1qcyIsICJkb2NzLy52aXRlcHJlc3MvbWFya2Rvd24ubWpzIiwgImRvY3MvLnZpdGVwcmVzcy9zZWFyY2gubWpzIiwgImRvY3MvLnZpdGVwcmVzcy9zaWRlYmFyLm1qcyIsICJkb2NzLy52aXRlcHJlc3MvemgubWpzIl0sCiAgInNvdXJjZXNDb250ZW50IjogWyJjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfZGlybmFtZSA9IFwiL3dvcmsvd3QvcGFnZXMvZG9jcy8udml0ZXByZXNzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ZpbGVuYW1lID0gXCIvd29yay93dC9wYWdlcy9kb2NzLy52aXRlcHJlc3MvY29uZmlnLm1qc1wiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9pbXBvcnRfbWV0YV91cmwgPSBcImZpbGU6Ly8vd29yay93dC9wYWdlcy9kb2NzLy52aXRlcHJlc3MvY29uZmlnLm1qc1wiO2ltcG9ydCB7IGNvcHlGaWxlU3luYywgbWtkaXJTeW5jLCByZWFkZGlyU3luYyB9IGZyb20gJ25vZGU6ZnMnO1xuaW1wb3J0IHsgZGlybmFtZSwgam9pbiB9IGZyb20gJ25vZGU6cGF0aCc7XG5pbXBvcnQgeyBmaWxlVVJMVG9QYXRoIH0gZnJvbSAnbm9kZTp1cmwnO1xuaW1wb3J0IHsgZGVmaW5lQ29uZmlnIH0gZnJvbSAndml0ZXByZXNzJztcbmltcG9ydCB7IGFjY2Vzc2libGVTZWFyY2ggfSBmcm9tICcuL2FjY2Vzc2libGUtc2VhcmNoLm1qcyc7XG5pbXBvcnQgeyBhbmNob3JPZiwgc2l0ZUxpbmtzIH0gZnJvbSAnLi9saW5rcy5tanMnO1xuaW1wb3J0IHsgcmVhZE1hbmlmZXN0LCBzZXR0aW5nc09mIH0gZnJvbSAnLi9tYW5pZmVzdC5tanMnO1xuaW1wb3J0IHsgYWxlcnRUaXRsZXMsIGRpYWdyYW1zLCBlbXB0eUNvcm5lcnMsIHBsYWluVGV4dCB9IGZyb20gJy4vbWFya2Rvd24ubWpzJztcbmltcG9ydCB7IEFQSV9GT0xERVIsIGFkZHJlc3NPZiwgZmlsZXNPZmZUaGVTaXRlLCBwYWdlRmlsZXMsIHBsYWNlT2YsIHJvb3QgfSBmcm9tICcuL3BhZ2VzLm1qcyc7XG5pbXBvcnQgeyBtaW5pU2VhcmNoIH0gZnJvbSAnLi9zZWFyY2gubWpzJztcbmltcG9ydCB7IHNpZGViYXJPZkFwaSwgc2lkZWJhcnNPZiB9IGZyb20gJy4vc2lkZWJhci5tanMnO1xuaW1wb3J0IHsgYWxlcnRzSW5DaGluZXNlLCBzZWFyY2hJbkNoaW5lc2UsIHRoZW1lSW5DaGluZXNlIH0gZnJvbSAnLi96aC5tanMnO1xuXG5jb25zdCBUSVRMRSA9ICduZXN0anMtZGlzdHJpYnV0ZWQtbG9jayc7XG5jb25zdCBERVNDUklQVElPTiA9ICdEaXN0cmlidXRlZCBsb2NrcyBmb3IgTmVzdEpTIG9uIFJlZGlzLCBQb3N0Z3JlU1FMLCBldGNkIG9yIFpvb0tlZXBlcic7XG5cbmNvbnN0IHsgdmVyc2lvbiwgYmFzZSwgcmVwb3NpdG9yeSwgc291cmNlT2YsIGVkaXRQYXR0ZXJuIH0gPSBzZXR0aW5nc09mKHJlYWRNYW5pZmVzdCgpLCBwcm9jZXNzLmVudik7XG5jb25zdCBmaWxlcyA9IHBhZ2VGaWxlcygpO1xuY29uc3QgcGxhY2VzID0gbmV3IFNldChmaWxlcy5tYXAocGxhY2VPZikpO1xuY29uc3QgaGFzQ2hpbmVzZSA9IFsuLi5wbGFjZXNdLnNvbWUoKHBsYWNlKSA9PiBwbGFjZS5zdGFydHNXaXRoKCd6aC8nKSk7XG5cbi8qKiBMaW5rcyB0byBub3RoaW5nLCBhcyBcInBhZ2U6IGxpbmtcIi4gVGhleSBmYWlsIHRoZSBidWlsZDsgd2hpbGUgcGFnZXMgYXJlIGVkaXRlZCwgdGhlIHRlcm1pbmFsIHNob3dzIHRoZW0uICovXG5jb25zdCBkZWFkID0gbmV3IFNldCgpO1xuY29uc3QgZG93bmxvYWRzID0gbmV3IFNldCgpO1xuXG4vKiogQSBsaW5rIG9mIHRoZSBtZW51LCBpZiB0aGF0IHBhZ2UgaXMgdGhlcmUgaW4gdGhlIGxhbmd1YWdlLiAqL1xuZnVuY3Rpb24gbWVudU9mKGxvY2FsZSkge1xuICBjb25zdCBwcmVmaXggPSBsb2NhbGUgPT09ICdlbicgPyAnJyA6IGAke2xvY2FsZX0vYDtcbiAgY29uc3QgZW50cmllcyA9IFtcbiAgICBbeyBlbjogJ1F1aWNrIHN0YXJ0Jywgemg6ICdcdTVGRUJcdTkwMUZcdTVGMDBcdTU5Q0InIH0sICdpbnRyb2R1Y3Rpb24vcXVpY2stc3RhcnQubWQnXSxcbiAgICBbeyBlbjogJ0d1aWRlcycsIHpoOiAnXHU2MzA3XHU1MzU3JyB9LCAnZ3VpZGVzL2luZGV4Lm1kJywgJ2d1aWRlcyddLFxuICAgIFt7IGVuOiAnT3BlcmF0aW9ucycsIHpoOiAnXHU4RkQwXHU3RUY0JyB9LCAnb3BlcmF0aW9ucy9rdWJlcm5ldGVzLm1kJywgJ29wZXJhdGlvbnMnXSxcbiAgICBbeyBlbjogJ1NhZmV0eScsIHpoOiAnXHU1Qjg5XHU1MTY4XHU2MDI3JyB9LCAnc2FmZXR5L2luZGV4Lm1kJywgJ3NhZmV0eSddLFxuICAgIFt7IGVuOiAnUmVmZXJlbmNlJywgemg6ICdcdTUzQzJcdTgwMDNcdUZGMDhcdTgyRjFcdTY1ODdcdUZGMDknIH0sICdyZWZlcmVuY2UvaW5kZXgubWQnLCAncmVmZXJlbmNlJ10sXG4gIF07XG4gIHJldHVybiBlbnRyaWVzXG4gICAgLm1hcCgoW3RleHQsIHBsYWNlLCBmb2xkZXJdKSA9PiAoe1xuICAgICAgdGV4dDogdGV4dFtsb2NhbGVdLFxuICAgICAgcGxhY2U6IHBsYWNlcy5oYXMocHJlZml4ICsgcGxhY2UpID8gcHJlZml4ICsgcGxhY2UgOiBwbGFjZSxcbiAgICAgIGZvbGRlcixcbiAgICB9KSlcbiAgICAuZmlsdGVyKCh7IHBsYWNlIH0pID0+IHBsYWNlcy5oYXMocGxhY2UpKVxuICAgIC5tYXAoKHsgdGV4dCwgcGxhY2UsIGZvbGRlciB9KSA9PiAoe1xuICAgICAgdGV4dCxcbiAgICAgIGxpbms6IGFkZHJlc3NPZihwbGFjZSksXG4gICAgICAuLi4oZm9sZGVyICYmIHsgYWN0aXZlTWF0Y2g6IGBeJHtwcmVmaXggJiYgYC96aGB9LyR7Zm9sZGVyfS9gIH0pLFxuICAgIH0pKTtcbn1cblxuLyoqIFRoZSB2ZXJzaW9uIGxlYWRzIHRvIHdoYXQgY2hhbmdlZCBpbiBpdC4gKi9cbmNvbnN0IHZlcnNpb25MaW5rID0geyB0ZXh0OiBgdiR7dmVyc2lvbn1gLCBsaW5rOiAnL2NoYW5nZWxvZycgfTtcblxuY29uc3QgbG9jYWxlcyA9IHtcbiAgcm9vdDogeyBsYWJlbDogJ0VuZ2xpc2gnLCBsYW5nOiAnZW4tVVMnIH0sXG4gIC4uLihoYXNDaGluZXNlICYmIHtcbiAgICB6aDoge1xuICAgICAgbGFiZWw6ICdcdTdCODBcdTRGNTNcdTRFMkRcdTY1ODcnLFxuICAgICAgbGFuZzogJ3poLUNOJyxcbiAgICAgIGxpbms6ICcvemgvJyxcbiAgICAgIGRlc2NyaXB0aW9uOiAnTmVzdEpTIFx1NTIwNlx1NUUwM1x1NUYwRlx1OTUwMVx1RkYxQVx1NjUyRlx1NjMwMSBSZWRpc1x1MzAwMVBvc3RncmVTUUxcdTMwMDFldGNkIFx1NTQ4QyBab29LZWVwZXInLFxuICAgICAgdGhlbWVDb25maWc6IHtcbiAgICAgICAgLi4udGhlbWVJbkNoaW5lc2UsXG4gICAgICAgIG5hdjogWy4uLm1lbnVPZignemgnKSwgdmVyc2lvbkxpbmtdLFxuICAgICAgICAuLi4oZWRpdFBhdHRlcm4gJiYgeyBlZGl0TGluazogeyBwYXR0ZXJuOiBlZGl0UGF0dGVybiwgdGV4dDogJ1x1N0YxNlx1OEY5MVx1NkI2NFx1OTg3NScgfSB9KSxcbiAgICAgIH0sXG4gICAgfSxcbiAgfSksXG59O1xuXG5leHBvcnQgZGVmYXVsdCBkZWZpbmVDb25maWcoe1xuICB0aXRsZTogVElUTEUsXG4gIGRlc2NyaXB0aW9uOiBERVNDUklQVElPTixcbiAgYmFzZSxcbiAgbG9jYWxlcyxcbiAgY2xlYW5VcmxzOiB0cnVlLFxuICAvLyBUaGUgcm9vdCBvZiB0aGUgcmVwb3NpdG9yeTogc29tZSBwYWdlcyBzdGFuZCBvdXRzaWRlIG9mIGRvY3MvLlxuICBzcmNEaXI6ICcuLicsXG4gIHNyY0V4Y2x1ZGU6IGZpbGVzVGhhdEFyZU5vUGFnZXMoKSxcbiAgcmV3cml0ZXM6IChmaWxlKSA9PiBwbGFjZU9mKGZpbGUpID8/IGZpbGUsXG4gIC8vIFRoZSBsaW5rcyBvZiBwYWdlcyBhcmUgY2hlY2tlZCBpbiBsaW5rcy5tanMsIHdpdGggdGhlIGZpbGVzIHRoYXQgdGhleSBsZWFkIHRvLlxuICBpZ25vcmVEZWFkTGlua3M6IHRydWUsXG4gIG1ldGFDaHVuazogdHJ1ZSxcbiAgaGVhZDogW1snbGluaycsIHsgcmVsOiAnaWNvbicsIGhyZWY6IGAke2Jhc2V9ZmF2aWNvbi5zdmdgLCB0eXBlOiAnaW1hZ2Uvc3ZnK3htbCcgfV1dLFxuICBtYXJrZG93bjoge1xuICAgIC8vIFRoZWlyIGNvbG91cnMgaGF2ZSBlbm91Z2ggY29udHJhc3QuXG4gICAgdGhlbWU6IHsgbGlnaHQ6ICdnaXRodWItbGlnaHQtaGlnaC1jb250cmFzdCcsIGRhcms6ICdnaXRodWItZGFyay1oaWdoLWNvbnRyYXN0JyB9LFxuICAgIGFuY2hvcjogeyBzbHVnaWZ5OiBhbmNob3JPZiB9LFxuICAgIGNvbmZpZzogKG1kKSA9PiB7XG4gICAgICBtZC51c2UocGxhaW5UZXh0KTtcbiAgICAgIG1kLnVzZShkaWFncmFtcyk7XG4gICAgICBtZC51c2UoZW1wdHlDb3JuZXJzKTtcbiAgICAgIG1kLnVzZShhbGVydFRpdGxlcywgeyB6aDogYWxlcnRzSW5DaGluZXNlIH0pO1xuICAgICAgbWQudXNlKHNpdGVMaW5rcywge1xuICAgICAgICBzb3VyY2VPZixcbiAgICAgICAgYmFzZSxcbiAgICAgICAgb25EZWFkOiAobGluaykgPT4ge1xuICAgICAgICAgIGlmICghZGVhZC5oYXMobGluaykpIGNvbnNvbGUuZXJyb3IoYEEgbGluayBsZWFkcyB0byBubyBmaWxlOiAke2xpbmt9YCk7XG4gICAgICAgICAgZGVhZC5hZGQobGluayk7XG4gICAgICAgIH0sXG4gICAgICAgIG9uRG93bmxvYWQ6IChmaWxlKSA9PiBkb3dubG9hZHMuYWRkKGZpbGUpLFxuICAgICAgfSk7XG4gICAgfSxcbiAgfSxcbiAgdml0ZToge1xuICAgIHBsdWdpbnM6IFthY2Nlc3NpYmxlU2VhcmNoKCldLFxuICAgIHB1YmxpY0RpcjogZmlsZVVSTFRvUGF0aChuZXcgVVJMKCdwdWJsaWMnLCBpbXBvcnQubWV0YS51cmwpKSxcbiAgICByZXNvbHZlOiB7XG4gICAgICBhbGlhczogW1xuICAgICAgICB7XG4gICAgICAgICAgLy8gV2l0aG91dCBhIGxhbmRtYXJrIG9mIHRoZSBtYWluIGNvbnRlbnQuXG4gICAgICAgICAgZmluZDogL14uKlxcL1ZQSG9tZVxcLnZ1ZSQvLFxuICAgICAgICAgIHJlcGxhY2VtZW50OiBmaWxlVVJMVG9QYXRoKG5ldyBVUkwoJ3RoZW1lL0hvbWVQYWdlLnZ1ZScsIGltcG9ydC5tZXRhLnVybCkpLFxuICAgICAgICB9LFxuICAgICAgICB7XG4gICAgICAgICAgLy8gVGhlIHN3aXRjaCBvZiBsYW5ndWFnZXM6IHNlZSB0aGVyZS5cbiAgICAgICAgICBmaW5kOiAvXi4qXFwvY29tcG9zYWJsZXNcXC9sYW5ncyQvLFxuICAgICAgICAgIHJlcGxhY2VtZW50OiBmaWxlVVJMVG9QYXRoKG5ldyBVUkwoJ3RoZW1lL2xhbmdzLmpzJywgaW1wb3J0Lm1ldGEudXJsKSksXG4gICAgICAgIH0sXG4gICAgICBdLFxuICAgIH0sXG4gICAgYnVpbGQ6IHsgY2h1bmtTaXplV2FybmluZ0xpbWl0OiAyXzAwMCB9LFxuICB9LFxuICB0aGVtZUNvbmZpZzoge1xuICAgIG91dGxpbmU6IHsgbGV2ZWw6IFsyLCAzXSB9LFxuICAgIG5hdjogWy4uLm1lbnVPZignZW4nKSwgdmVyc2lvbkxpbmtdLFxuICAgIHNpZGViYXI6IHtcbiAgICAgIC4uLnNpZGViYXJzT2YoJ2VuJywgZmlsZXMpLFxuICAgICAgJy9yZWZlcmVuY2UvYXBpLyc6IHNpZGViYXJPZkFwaShmaWxlcyksXG4gICAgICAuLi4oaGFzQ2hpbmVzZSAmJiBzaWRlYmFyc09mKCd6aCcsIGZpbGVzKSksXG4gICAgfSxcbiAgICBzZWFyY2g6IHtcbiAgICAgIHByb3ZpZGVyOiAnbG9jYWwnLFxuICAgICAgb3B0aW9uczoge1xuICAgICAgICBsb2NhbGVzOiB7IHpoOiBzZWFyY2hJbkNoaW5lc2UgfSxcbiAgICAgICAgbWluaVNlYXJjaCxcbiAgICAgICAgLy8gT2YgdGhlIG1hbnkgcGFnZXMgYWJvdXQgdHlwZXMsIG9ubHkgd2hhdCB0aGV5IGFyZS5cbiAgICAgICAgX3JlbmRlcjogKHRleHQsIGVudiwgbWQpID0+IHtcbiAgICAgICAgICBjb25zdCBodG1sID0gbWQucmVuZGVyKHRleHQsIGVudik7XG4gICAgICAgICAgcmV0dXJuIGVudi5yZWxhdGl2ZVBhdGguaW5jbHVkZXMoJ3JlZmVyZW5jZS9hcGkvJykgPyBodG1sLnJlcGxhY2UoLzxoMlteXSokLywgJycpIDogaHRtbDtcbiAgICAgICAgfSxcbiAgICAgIH0sXG4gICAgfSxcbiAgICAuLi4oZWRpdFBhdHRlcm4gJiYgeyBlZGl0TGluazogeyBwYXR0ZXJuOiBlZGl0UGF0dGVybiB9IH0pLFxuICAgIC4uLihyZXBvc2l0b3J5ICYmIHtcbiAgICAgIHNvY2lhbExpbmtzOiBbeyBpY29uOiByZXBvc2l0b3J5LmluY2x1ZGVzKCdnaXRsYWInKSA/ICdnaXRsYWInIDogJ2dpdGh1YicsIGxpbms6IHJlcG9zaXRvcnkgfV0sXG4gICAgfSksXG4gICAgLy8gRm9yIHRoZW1lL2xhbmdzLmpzLlxuICAgIHBhZ2VzOiBoYXNDaGluZXNlID8gWy4uLnBsYWNlc10uZmlsdGVyKChwbGFjZSkgPT4gIXBsYWNlLnN0YXJ0c1dpdGgoJ3JlZmVyZW5jZS9hcGkvJykpIDogW10sXG4gIH0sXG4gIHRyYW5zZm9ybVBhZ2VEYXRhOiAocGFnZSkgPT4ge1xuICAgIC8vIFdyaXR0ZW4gYnkgVHlwZURvYywgYW5kIG1vc3QgYXJlIGluIG5vIHNpZGViYXIsIHdob3NlIGZpcnN0IHBhZ2Ugd291bGQgYmUgdGhlIG5leHQgb25lIG9mIGVhY2guXG4gICAgaWYgKHBhZ2UuZmlsZVBhdGguc3RhcnRzV2l0aChgJHtBUElfRk9MREVSfS9gKSlcbiAgICAgIE9iamVjdC5hc3NpZ24ocGFnZS5mcm9udG1hdHRlciwgeyBlZGl0TGluazogZmFsc2UsIHByZXY6IGZhbHNlLCBuZXh0OiBmYWxzZSB9KTtcbiAgfSxcbiAgYnVpbGRFbmQ6ICh7IG91dERpciB9KSA9PiB7XG4gICAgaWYgKGRlYWQuc2l6ZSA+IDApIHRocm93IG5ldyBFcnJvcihgJHtkZWFkLnNpemV9IGxpbmtzIGxlYWQgdG8gbm8gZmlsZTsgdGhleSBhcmUgYWJvdmUuYCk7XG4gICAgZm9yIChjb25zdCBmaWxlIG9mIGRvd25sb2Fkcykge1xuICAgICAgbWtkaXJTeW5jKGRpcm5hbWUoam9pbihvdXREaXIsIGZpbGUpKSwgeyByZWN1cnNpdmU6IHRydWUgfSk7XG4gICAgICBjb3B5RmlsZVN5bmMoam9pbihyb290LCAnZG9jcycsIGZpbGUpLCBqb2luKG91dERpciwgZmlsZSkpO1xuICAgIH1cbiAgfSxcbn0pO1xuXG4vKiogV2hhdCBWaXRlUHJlc3MgbXVzdCBub3QgdGFrZSBmb3IgcGFnZXMsIGFzIGl0IGxvb2tzIGZvciB0aGVtIGluIHRoZSB3aG9sZSByZXBvc2l0b3J5LiBJdHMgcGF0dGVybnMga25vdyBubyBcImFsbCBidXRcIi4gKi9cbmZ1bmN0aW9uIGZpbGVzVGhhdEFyZU5vUGFnZXMoKSB7XG4gIGNvbnN0IHdpdGhQYWdlcyA9IFsnZG9jcycsICdleGFtcGxlcycsICdzYW1wbGUtYXBwJywgJ2JlbmNoJ107XG4gIGNvbnN0IGVudHJpZXMgPSByZWFkZGlyU3luYyhyb290LCB7IHdpdGhGaWxlVHlwZXM6IHRydWUgfSk7XG4gIHJldHVybiBbXG4gICAgLi4uZW50cmllc1xuICAgICAgLmZpbHRlcigoZW50cnkpID0+IGVudHJ5LmlzRGlyZWN0b3J5KCkgJiYgIXdpdGhQYWdlcy5pbmNsdWRlcyhlbnRyeS5uYW1lKSlcbiAgICAgIC5tYXAoKHsgbmFtZSB9KSA9PiBgJHtuYW1lfS8qKmApLFxuICAgIC4uLmVudHJpZXNcbiAgICAgIC5maWx0ZXIoKHsgbmFtZSB9KSA9PiBuYW1lLmVuZHNXaXRoKCcubWQnKSAmJiBwbGFjZU9mKG5hbWUpID09PSB1bmRlZmluZWQpXG4gICAgICAubWFwKCh7IG5hbWUgfSkgPT4gbmFtZSksXG4gICAgLi4uZmlsZXNPZmZUaGVTaXRlKCksXG4gICAgJ2JlbmNoL1JFU1VMVFMubWQnLFxuICAgICdiZW5jaC8qLyoqJyxcbiAgICAnZXhhbXBsZXMvKi8qLyoqJyxcbiAgICAnc2FtcGxlLWFwcC8qLyoqJyxcbiAgXTtcbn1cbiIsICJjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfZGlybmFtZSA9IFwiL3dvcmsvd3QvcGFnZXMvZG9jcy8udml0ZXByZXNzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ZpbGVuYW1lID0gXCIvd29yay93dC9wYWdlcy9kb2NzLy52aXRlcHJlc3MvYWNjZXNzaWJsZS1zZWFyY2gubWpzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ltcG9ydF9tZXRhX3VybCA9IFwiZmlsZTovLy93b3JrL3d0L3BhZ2VzL2RvY3MvLnZpdGVwcmVzcy9hY2Nlc3NpYmxlLXNlYXJjaC5tanNcIjsvKipcbiAqIEEgcGx1Z2luIGZvciBWaXRlIHRoYXQgY29ycmVjdHMgdGhlIHJvbGVzIGluIHRoZSB0aGVtZSdzIHNlYXJjaCBib3g6IGl0IHNheXMgdG8gYmUgYSBidXR0b24gd2l0aCBldmVyeXRoaW5nIGluc2lkZSwgYW5kIGl0c1xuICogcmVzdWx0cyBhcmUgb3B0aW9ucyB0aGF0IGNvbnRhaW4gbGlua3MuIEl0IGJlY29tZXMgYSBkaWFsb2cgd2l0aCBhIGxpc3Qgb2YgbGlua3MuXG4gKi9cbmNvbnN0IENPUlJFQ1RJT05TID0gW1xuICBbXG4gICAgL3JvbGU9XCJidXR0b25cIlxccys6YXJpYS1vd25zPVwiW15cIl0qXCJcXHMrYXJpYS1leHBhbmRlZD1cInRydWVcIlxccythcmlhLWhhc3BvcHVwPVwibGlzdGJveFwiXFxzK2FyaWEtbGFiZWxsZWRieT1cImxvY2Fsc2VhcmNoLWxhYmVsXCIvLFxuICAgICdyb2xlPVwiZGlhbG9nXCIgYXJpYS1tb2RhbD1cInRydWVcIiA6YXJpYS1sYWJlbD1cImJ1dHRvblRleHRcIicsXG4gIF0sXG4gIFtcbiAgICAvOmFyaWEtYWN0aXZlZGVzY2VuZGFudD1cIlteXCJdKlwiXFxzK2FyaWEtYXV0b2NvbXBsZXRlPVwiYm90aFwiXFxzKzphcmlhLWNvbnRyb2xzPVwiW15cIl0qXCJcXHMrYXJpYS1sYWJlbGxlZGJ5PVwibG9jYWxzZWFyY2gtbGFiZWxcIi8sXG4gICAgJzphcmlhLWxhYmVsPVwiYnV0dG9uVGV4dFwiJyxcbiAgXSxcbiAgWy86cm9sZT1cIlteXCJdKidsaXN0Ym94J1teXCJdKlwiXFxzKzphcmlhLWxhYmVsbGVkYnk9XCJbXlwiXSpcIi8sICcnXSxcbiAgWy86YXJpYS1zZWxlY3RlZD1cIlteXCJdKlwiXFxzK3JvbGU9XCJvcHRpb25cIi8sICcnXSxcbiAgLy8gVGhlIG5hbWUgb2YgYSByZXN1bHQgaXMgd2hhdCBpdCBzaG93cy5cbiAgWy86YXJpYS1sYWJlbD1cIlxcW1xcLlxcLlxcLnBcXC50aXRsZXMsIHBcXC50aXRsZVxcXVxcLmpvaW5cXCgnID4gJ1xcKVwiLywgJyddLFxuICBbLzxrYmQgOmFyaWEtbGFiZWwvZywgJzxrYmQgcm9sZT1cImltZ1wiIDphcmlhLWxhYmVsJ10sXG4gIFsvPHNwYW4gY2xhc3M9XCJ0aXRsZS1pY29uXCI+LywgJzxzcGFuIGNsYXNzPVwidGl0bGUtaWNvblwiIGFyaWEtaGlkZGVuPVwidHJ1ZVwiPiddLFxuXTtcblxuLyoqIEByZXR1cm5zIHtpbXBvcnQoJ3ZpdGUnKS5QbHVnaW59ICovXG5leHBvcnQgZnVuY3Rpb24gYWNjZXNzaWJsZVNlYXJjaCgpIHtcbiAgcmV0dXJuIHtcbiAgICBuYW1lOiAnYWNjZXNzaWJsZS1zZWFyY2gnLFxuICAgIGVuZm9yY2U6ICdwcmUnLFxuICAgIHRyYW5zZm9ybShjb2RlLCBpZCkge1xuICAgICAgaWYgKCFpZC5lbmRzV2l0aCgnL1ZQTG9jYWxTZWFyY2hCb3gudnVlJykpIHJldHVybiB1bmRlZmluZWQ7XG4gICAgICByZXR1cm4gQ09SUkVDVElPTlMucmVkdWNlKCh0ZXh0LCBbZm91bmQsIHB1dF0pID0+IHtcbiAgICAgICAgLy8gQW5vdGhlciB2ZXJzaW9uIG9mIHRoZSB0aGVtZTogc2VlIHdoYXQgaXQgbmVlZHMuXG4gICAgICAgIGlmICh0ZXh0LnNlYXJjaChmb3VuZCkgPCAwKSB0aHJvdyBuZXcgRXJyb3IoYFRoZSBzZWFyY2ggYm94IG9mIHRoZSB0aGVtZSBoYXMgY2hhbmdlZDogbm8gJHtmb3VuZH1gKTtcbiAgICAgICAgcmV0dXJuIHRleHQucmVwbGFjZShmb3VuZCwgcHV0KTtcbiAgICAgIH0sIGNvZGUpO1xuICAgIH0sXG4gIH07XG59XG4iLCAiY29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2Rpcm5hbWUgPSBcIi93b3JrL3d0L3BhZ2VzL2RvY3MvLnZpdGVwcmVzc1wiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9maWxlbmFtZSA9IFwiL3dvcmsvd3QvcGFnZXMvZG9jcy8udml0ZXByZXNzL2xpbmtzLm1qc1wiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9pbXBvcnRfbWV0YV91cmwgPSBcImZpbGU6Ly8vd29yay93dC9wYWdlcy9kb2NzLy52aXRlcHJlc3MvbGlua3MubWpzXCI7LyoqXG4gKiBMaW5rcyBvZiBwYWdlcyBvbiB0aGUgc2l0ZS4gUGFnZXMgbGluayB0byBmaWxlcywgc28gdGhhdCB0aGUgbGlua3Mgd29yayBpbiB0aGUgcmVwb3NpdG9yeSwgdG9vLiBBIGxpbmsgdG8gYSBwYWdlIGxlYWRzIHRvXG4gKiB0aGF0IHBhZ2Ugb2YgdGhlIHNpdGUsIGEgbGluayB0byBhbm90aGVyIGZpbGUgdG8gdGhlIHJlcG9zaXRvcnk7IHdpdGhvdXQgYSBrbm93biByZXBvc2l0b3J5IG9ubHkgaXRzIHRleHQgaXMgbGVmdC5cbiAqL1xuaW1wb3J0IHsgZXhpc3RzU3luYywgc3RhdFN5bmMgfSBmcm9tICdub2RlOmZzJztcbmltcG9ydCB7IGRpcm5hbWUsIGpvaW4sIHBvc2l4IH0gZnJvbSAnbm9kZTpwYXRoJztcbmltcG9ydCB7IGFkZHJlc3NPZiwgaXNQYWdlLCBwYWdlRmlsZXMsIHBsYWNlT2YsIHJvb3QgfSBmcm9tICcuL3BhZ2VzLm1qcyc7XG5cbi8qKiBGaWxlcyBpbiBgZG9jcy9gIHRoYXQgcmVhZGVycyBkb3dubG9hZDogdGhlIGJ1aWxkIGNvcGllcyB0aGVtLiAqL1xuY29uc3QgRE9XTkxPQURTID0gL1xcLihqc29ufHlhbWx8c3FsKSQvO1xuXG4vKiogVGhlIGhvbWUgcGFnZXMgc2F5IHdoYXQgdGhlIFJFQURNRXMgc2F5LiAqL1xuY29uc3QgSE9NRSA9IHsgJ1JFQURNRS5tZCc6ICcvJywgJ1JFQURNRS56aC1DTi5tZCc6ICcvemgvJyB9O1xuXG4vKipcbiAqIFdoYXQgYSBsaW5rIGluIGEgcGFnZSBtZWFucyBvbiB0aGUgc2l0ZS5cbiAqXG4gKiBAcGFyYW0ge3N0cmluZ30gcGFnZSB0aGUgZmlsZSBvZiB0aGUgcGFnZSwgcmVsYXRpdmUgdG8gdGhlIHJvb3Qgb2YgdGhlIHJlcG9zaXRvcnlcbiAqIEBwYXJhbSB7c3RyaW5nfSBocmVmIGFzIGluIHRoZSBwYWdlXG4gKiBAcGFyYW0geyhmaWxlOiBzdHJpbmcpID0+IHN0cmluZyB8IHVuZGVmaW5lZH0gc291cmNlT2Ygd2hlcmUgdGhlIHJlcG9zaXRvcnkgc2hvd3MgYSBmaWxlLCBpZiB0aGF0IGlzIGtub3duXG4gKiBAcmV0dXJucyB7eyBocmVmOiBzdHJpbmcsIGRvd25sb2FkPzogc3RyaW5nIH0gfCB7IHRleHQ6IHRydWUgfSB8IHsgZGVhZDogdHJ1ZSB9fVxuICovXG5leHBvcnQgZnVuY3Rpb24gbGlua09mKHBhZ2UsIGhyZWYsIHNvdXJjZU9mKSB7XG4gIGlmICgvXlthLXpdW2EteisuLV0qOi9pLnRlc3QoaHJlZikgfHwgaHJlZi5zdGFydHNXaXRoKCcjJykpIHJldHVybiB7IGhyZWYgfTtcbiAgY29uc3QgWywgcGF0aCwgYW5jaG9yID0gJyddID0gL14oW14jXSopKCMuKik/JC8uZXhlYyhocmVmKTtcbiAgY29uc3QgZmlsZSA9IGZpbGVPZihwYWdlLCBkZWNvZGVVUkkocGF0aCkpO1xuICBpZiAoZmlsZSA9PT0gdW5kZWZpbmVkKSByZXR1cm4geyBkZWFkOiB0cnVlIH07XG4gIGlmIChIT01FW2ZpbGVdICE9PSB1bmRlZmluZWQpIHJldHVybiB7IGhyZWY6IEhPTUVbZmlsZV0gfTtcbiAgY29uc3QgdGFyZ2V0ID0gcGFnZU9mKGZpbGUpO1xuICBpZiAodGFyZ2V0ICE9PSB1bmRlZmluZWQpIHJldHVybiB7IGhyZWY6IGFkZHJlc3NPZihwbGFjZU9mKHRhcmdldCkpICsgYW5jaG9yIH07XG4gIGlmIChmaWxlLnN0YXJ0c1dpdGgoJ2RvY3MvJykgJiYgRE9XTkxPQURTLnRlc3QoZmlsZSkpIHtcbiAgICBjb25zdCBkb3dubG9hZCA9IGZpbGUuc2xpY2UoJ2RvY3MvJy5sZW5ndGgpO1xuICAgIHJldHVybiB7IGhyZWY6IGAvJHtkb3dubG9hZH1gLCBkb3dubG9hZCB9O1xuICB9XG4gIGNvbnN0IHNvdXJjZSA9IHNvdXJjZU9mKGZpbGUpO1xuICByZXR1cm4gc291cmNlID09PSB1bmRlZmluZWQgPyB7IHRleHQ6IHRydWUgfSA6IHsgaHJlZjogc291cmNlICsgYW5jaG9yIH07XG59XG5cbi8qKiBUaGUgZmlsZSB0aGF0IGEgcGFnZSBsaW5rcyB0by4gUGFnZXMgaW4gQ2hpbmVzZSBtYXkgbGluayB0byBwYWdlcyB0aGF0IGFyZSBub3QgdHJhbnNsYXRlZCBhcyBpZiB0aGV5IHdlcmUuICovXG5mdW5jdGlvbiBmaWxlT2YocGFnZSwgcGF0aCkge1xuICBjb25zdCBuYW1lZCA9IHBvc2l4LmpvaW4ocG9zaXguZGlybmFtZShwYWdlKSwgcGF0aCk7XG4gIGNvbnN0IGNhbmRpZGF0ZXMgPSBbbmFtZWQsIG5hbWVkLnJlcGxhY2UoL15kb2NzXFwvemhcXC8vLCAnZG9jcy8nKV07XG4gIHJldHVybiBjYW5kaWRhdGVzLmZpbmQoKGZpbGUpID0+ICFmaWxlLnN0YXJ0c1dpdGgoJy4uJykgJiYgZXhpc3RzU3luYyhqb2luKHJvb3QsIGZpbGUpKSk7XG59XG5cbi8qKiBUaGUgcGFnZSBpdHNlbGYsIG9yIHRoYXQgb2YgYSBmb2xkZXI6IGl0cyBSRUFETUUsIG9yIGVsc2UgaXRzIGZpcnN0IHBhZ2UuICovXG5mdW5jdGlvbiBwYWdlT2YoZmlsZSkge1xuICBpZiAoIXN0YXRTeW5jKGpvaW4ocm9vdCwgZmlsZSkpLmlzRGlyZWN0b3J5KCkpIHJldHVybiBpc1BhZ2UoZmlsZSkgPyBmaWxlIDogdW5kZWZpbmVkO1xuICBjb25zdCBmb2xkZXIgPSBmaWxlLnJlcGxhY2UoL1xcLyQvLCAnJyk7XG4gIGlmIChpc1BhZ2UoYCR7Zm9sZGVyfS9SRUFETUUubWRgKSkgcmV0dXJuIGAke2ZvbGRlcn0vUkVBRE1FLm1kYDtcbiAgcmV0dXJuIHBhZ2VGaWxlcygpLmZpbmQoKHBhZ2UpID0+IGRpcm5hbWUocGFnZSkgPT09IGZvbGRlcik7XG59XG5cbi8qKlxuICogQSBwbHVnaW4gZm9yIG1hcmtkb3duLWl0LlxuICpcbiAqIEBwYXJhbSB7aW1wb3J0KCdtYXJrZG93bi1pdCcpfSBtZFxuICogQHBhcmFtIHt7IHNvdXJjZU9mOiAoZmlsZTogc3RyaW5nKSA9PiBzdHJpbmcgfCB1bmRlZmluZWQsIGJhc2U6IHN0cmluZywgb25EZWFkOiAod2hhdDogc3RyaW5nKSA9PiB2b2lkLCBvbkRvd25sb2FkOiAoZmlsZTogc3RyaW5nKSA9PiB2b2lkIH19IG9wdGlvbnNcbiAqL1xuZXhwb3J0IGZ1bmN0aW9uIHNpdGVMaW5rcyhtZCwgeyBzb3VyY2VPZiwgYmFzZSwgb25EZWFkLCBvbkRvd25sb2FkIH0pIHtcbiAgbWQuY29yZS5ydWxlci5wdXNoKCdzaXRlX2xpbmtzJywgKHN0YXRlKSA9PiB7XG4gICAgY29uc3QgeyByZWFsUGF0aCwgcGF0aCB9ID0gc3RhdGUuZW52O1xuICAgIGNvbnN0IGZpbGUgPSByZWFsUGF0aCA/PyBwYXRoO1xuICAgIC8vIFRpdGxlcyBvZiBwYWdlcyBhcmUgcmVuZGVyZWQgYnkgdGhlbXNlbHZlcy5cbiAgICBpZiAoZmlsZSA9PT0gdW5kZWZpbmVkKSByZXR1cm47XG4gICAgY29uc3QgcGFnZSA9IHBvc2l4Lm5vcm1hbGl6ZShmaWxlLnNsaWNlKHJvb3QubGVuZ3RoKS5yZXBsYWNlQWxsKCdcXFxcJywgJy8nKSk7XG4gICAgZm9yIChjb25zdCB7IGNoaWxkcmVuIH0gb2Ygc3RhdGUudG9rZW5zKSB7XG4gICAgICBpZiAoIWNoaWxkcmVuKSBjb250aW51ZTtcbiAgICAgIGNvbnN0IGlzVGV4dCA9IFtdO1xuICAgICAgZm9yIChjb25zdCB0b2tlbiBvZiBjaGlsZHJlbikge1xuICAgICAgICBpZiAodG9rZW4udHlwZSA9PT0gJ2xpbmtfY2xvc2UnICYmIGlzVGV4dC5wb3AoKSkgdG9TcGFuKHRva2VuKTtcbiAgICAgICAgaWYgKHRva2VuLnR5cGUgIT09ICdsaW5rX29wZW4nKSBjb250aW51ZTtcbiAgICAgICAgY29uc3QgaHJlZiA9IHRva2VuLmF0dHJHZXQoJ2hyZWYnKTtcbiAgICAgICAgY29uc3QgbGluayA9IGxpbmtPZihwYWdlLCBocmVmLCBzb3VyY2VPZik7XG4gICAgICAgIGlmIChsaW5rLmRlYWQpIG9uRGVhZChgJHtwYWdlfTogJHtocmVmfWApO1xuICAgICAgICBpc1RleHQucHVzaChsaW5rLmhyZWYgPT09IHVuZGVmaW5lZCk7XG4gICAgICAgIGlmIChsaW5rLmhyZWYgPT09IHVuZGVmaW5lZCkgdG9TcGFuKHRva2VuKTtcbiAgICAgICAgZWxzZSB0b2tlbi5hdHRyU2V0KCdocmVmJywgbGluay5ocmVmKTtcbiAgICAgICAgaWYgKGxpbmsuZG93bmxvYWQgIT09IHVuZGVmaW5lZCkge1xuICAgICAgICAgIHRva2VuLmF0dHJTZXQoJ2Rvd25sb2FkJywgJycpO1xuICAgICAgICAgIC8vIFZpdGVQcmVzcyBhZGRzIGl0IHRvIG90aGVyIGxpbmtzIG9ubHkuXG4gICAgICAgICAgdG9rZW4uYXR0clNldCgnaHJlZicsIGJhc2UgKyBsaW5rLmRvd25sb2FkKTtcbiAgICAgICAgICBvbkRvd25sb2FkKGxpbmsuZG93bmxvYWQpO1xuICAgICAgICB9XG4gICAgICB9XG4gICAgfVxuICB9KTtcbn1cblxuZnVuY3Rpb24gdG9TcGFuKHRva2VuKSB7XG4gIHRva2VuLnR5cGUgPSB0b2tlbi5uZXN0aW5nID09PSAxID8gJ3RleHRfbGlua19vcGVuJyA6ICd0ZXh0X2xpbmtfY2xvc2UnO1xuICB0b2tlbi50YWcgPSAnc3Bhbic7XG4gIHRva2VuLmF0dHJzID0gbnVsbDtcbn1cblxuLyoqIFRoZSBhbmNob3Igb2YgYSBoZWFkaW5nIGFzIGluIHRoZSByZXBvc2l0b3J5LCBzbyB0aGF0IG9uZSBsaW5rIHdvcmtzIGluIGJvdGguICovXG5leHBvcnQgZnVuY3Rpb24gYW5jaG9yT2YoaGVhZGluZykge1xuICByZXR1cm4gaGVhZGluZ1xuICAgIC50cmltKClcbiAgICAudG9Mb3dlckNhc2UoKVxuICAgIC5yZXBsYWNlKC9bXlxccHtMfVxccHtOfVxccHtNfV8gLV0vZ3UsICcnKVxuICAgIC5yZXBsYWNlQWxsKCcgJywgJy0nKTtcbn1cbiIsICJjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfZGlybmFtZSA9IFwiL3dvcmsvd3QvcGFnZXMvZG9jcy8udml0ZXByZXNzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ZpbGVuYW1lID0gXCIvd29yay93dC9wYWdlcy9kb2NzLy52aXRlcHJlc3MvcGFnZXMubWpzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ltcG9ydF9tZXRhX3VybCA9IFwiZmlsZTovLy93b3JrL3d0L3BhZ2VzL2RvY3MvLnZpdGVwcmVzcy9wYWdlcy5tanNcIjsvKiogV2hpY2ggZmlsZXMgb2YgdGhlIHJlcG9zaXRvcnkgYXJlIHBhZ2VzIG9mIHRoZSBzaXRlLCB3aGVyZSwgYW5kIHVuZGVyIHdoaWNoIHRpdGxlLiBQbGFpbiBOb2RlIHdpdGhvdXQgZGVwZW5kZW5jaWVzLiAqL1xuaW1wb3J0IHsgZXhpc3RzU3luYywgcmVhZEZpbGVTeW5jLCByZWFkZGlyU3luYywgc3RhdFN5bmMgfSBmcm9tICdub2RlOmZzJztcbmltcG9ydCB7IGpvaW4gfSBmcm9tICdub2RlOnBhdGgnO1xuaW1wb3J0IHsgZmlsZVVSTFRvUGF0aCB9IGZyb20gJ25vZGU6dXJsJztcblxuZXhwb3J0IGNvbnN0IHJvb3QgPSBmaWxlVVJMVG9QYXRoKG5ldyBVUkwoJy4uLy4uJywgaW1wb3J0Lm1ldGEudXJsKSk7XG5cbi8qKiBXcml0dGVuIGJ5IFR5cGVEb2MgZnJvbSB0aGUgY29tbWVudHMgaW4gYGxpYi9gLCBub3Qga2VwdCBpbiB0aGUgcmVwb3NpdG9yeS4gKi9cbmV4cG9ydCBjb25zdCBBUElfRk9MREVSID0gJ2RvY3MvcmVmZXJlbmNlL2FwaSc7XG5cbi8qKiBQYWdlcyB0aGF0IHN0YW5kIG91dHNpZGUgb2YgYGRvY3MvYCwgd2hlcmUgcmVhZGVycyBvZiB0aGUgcmVwb3NpdG9yeSBleHBlY3QgdGhlbS4gKi9cbmNvbnN0IEVMU0VXSEVSRSA9IFtcbiAgWy9eZXhhbXBsZXNcXC9SRUFETUVcXC5tZCQvLCAnZXhhbXBsZXMvaW5kZXgubWQnXSxcbiAgWy9eZXhhbXBsZXNcXC8oW1xcdy1dKylcXC9SRUFETUVcXC5tZCQvLCAnZXhhbXBsZXMvJDEubWQnXSxcbiAgWy9ec2FtcGxlLWFwcFxcL1JFQURNRVxcLm1kJC8sICdleGFtcGxlcy9zYW1wbGUtYXBwLm1kJ10sXG4gIFsvXmJlbmNoXFwvUkVBRE1FXFwubWQkLywgJ2ludGVybmFscy9iZW5jaC5tZCddLFxuICBbL15DT05UUklCVVRJTkdcXC5tZCQvLCAnaW50ZXJuYWxzL2NvbnRyaWJ1dGluZy5tZCddLFxuICBbL15TRUNVUklUWVxcLm1kJC8sICdzZWN1cml0eS5tZCddLFxuICBbL15DSEFOR0VMT0dcXC5tZCQvLCAnY2hhbmdlbG9nLm1kJ10sXG5dO1xuLyoqIFBhZ2VzIGZvciBtYWludGFpbmVycywgd2hpY2ggc3RheSBpbiB0aGUgcmVwb3NpdG9yeS4gKi9cbmNvbnN0IE9GRl9USEVfU0lURSA9IC9eZG9jc1xcL2ludGVybmFsc1xcLyg/IShSRUFETUV8aG93LWl0LXdvcmtzfGxpZmUtb2YtYS1sb2NrfHByb29mKVxcLm1kJCkvO1xuLyoqIFdoZXJlIHBhZ2VzIG1heSBiZSwgYmVzaWRlcyB0aGUgZm9sZGVycyBpbiBgZG9jc2AgYW5kIGluIGBleGFtcGxlc2AuICovXG5jb25zdCBGT0xERVJTID0gWydkb2NzJywgJ2V4YW1wbGVzJywgJ3NhbXBsZS1hcHAnLCAnYmVuY2gnLCAnLiddO1xuXG4vKipcbiAqIFdoZXJlIHRoZSBzaXRlIHNob3dzIGEgZmlsZSBvZiB0aGUgcmVwb3NpdG9yeS5cbiAqXG4gKiBAcGFyYW0ge3N0cmluZ30gZmlsZSByZWxhdGl2ZSB0byB0aGUgcm9vdCBvZiB0aGUgcmVwb3NpdG9yeVxuICogQHJldHVybnMge3N0cmluZyB8IHVuZGVmaW5lZH0gcmVsYXRpdmUgdG8gdGhlIHJvb3Qgb2YgdGhlIHNpdGUsIGVuZGluZyBpbiBgLm1kYDsgdW5kZWZpbmVkIGlmIHRoZSBmaWxlIGlzIG5vIHBhZ2VcbiAqL1xuZXhwb3J0IGZ1bmN0aW9uIHBsYWNlT2YoZmlsZSkge1xuICBpZiAoZmlsZS5zdGFydHNXaXRoKCdkb2NzLy52aXRlcHJlc3MvJykgfHwgT0ZGX1RIRV9TSVRFLnRlc3QoZmlsZSkpIHJldHVybiB1bmRlZmluZWQ7XG4gIGlmICgvXmRvY3NcXC8uKlxcLm1kJC8udGVzdChmaWxlKSlcbiAgICByZXR1cm4gZmlsZS5zbGljZSgnZG9jcy8nLmxlbmd0aCkucmVwbGFjZSgvKF58XFwvKVJFQURNRVxcLm1kJC8sICckMWluZGV4Lm1kJyk7XG4gIGNvbnN0IFtwYXR0ZXJuLCBwbGFjZV0gPSBFTFNFV0hFUkUuZmluZCgoW3BhdHRlcm5dKSA9PiBwYXR0ZXJuLnRlc3QoZmlsZSkpID8/IFtdO1xuICByZXR1cm4gcGF0dGVybiAmJiBmaWxlLnJlcGxhY2UocGF0dGVybiwgcGxhY2UpO1xufVxuXG4vKiogVGhlIGFkZHJlc3Mgb2YgYSBwYWdlIGJlbG93IHRoZSBzaXRlJ3MgYmFzZTogYGd1aWRlcy9pbmRleC5tZGAgaXMgc2hvd24gYXQgYC9ndWlkZXMvYCwgYGd1aWRlcy9mYWlyLm1kYCBhdCBgL2d1aWRlcy9mYWlyYC4gKi9cbmV4cG9ydCBmdW5jdGlvbiBhZGRyZXNzT2YocGxhY2UpIHtcbiAgcmV0dXJuIGAvJHtwbGFjZS5yZXBsYWNlKC8oXnxcXC8paW5kZXhcXC5tZCQvLCAnJDEnKS5yZXBsYWNlKC9cXC5tZCQvLCAnJyl9YDtcbn1cblxuLyoqXG4gKiBBbGwgcGFnZXM6IHRoZSBmaWxlcywgcmVsYXRpdmUgdG8gdGhlIHJvb3Qgb2YgdGhlIHJlcG9zaXRvcnkuXG4gKlxuICogQHJldHVybnMge3N0cmluZ1tdfVxuICovXG5leHBvcnQgZnVuY3Rpb24gcGFnZUZpbGVzKCkge1xuICByZXR1cm4gbWFya2Rvd25GaWxlcygpXG4gICAgLmZpbHRlcigoZmlsZSkgPT4gcGxhY2VPZihmaWxlKSAhPT0gdW5kZWZpbmVkKVxuICAgIC5zb3J0KCk7XG59XG5cbi8qKiBUaGUgZmlsZXMgaW4gYGRvY3MvYCB0aGF0IGFyZSBubyBwYWdlcyBvZiB0aGUgc2l0ZS4gKi9cbmV4cG9ydCBmdW5jdGlvbiBmaWxlc09mZlRoZVNpdGUoKSB7XG4gIHJldHVybiB3YWxrKCdkb2NzJykuZmlsdGVyKChmaWxlKSA9PiBPRkZfVEhFX1NJVEUudGVzdChmaWxlKSk7XG59XG5cbmZ1bmN0aW9uIG1hcmtkb3duRmlsZXMoKSB7XG4gIGNvbnN0IGV4YW1wbGVzID0gcmVhZGRpclN5bmMoam9pbihyb290LCAnZXhhbXBsZXMnKSkubWFwKChuYW1lKSA9PiBgZXhhbXBsZXMvJHtuYW1lfWApO1xuICByZXR1cm4gWy4uLndhbGsoJ2RvY3MnKSwgLi4uWy4uLkZPTERFUlMsIC4uLmV4YW1wbGVzXS5mbGF0TWFwKChmb2xkZXIpID0+IG1hcmtkb3duSW4oZm9sZGVyKSldO1xufVxuXG5mdW5jdGlvbiB3YWxrKGZvbGRlcikge1xuICByZXR1cm4gcmVhZGRpclN5bmMoam9pbihyb290LCBmb2xkZXIpLCB7IHdpdGhGaWxlVHlwZXM6IHRydWUgfSlcbiAgICAuZmlsdGVyKChlbnRyeSkgPT4gZW50cnkuaXNEaXJlY3RvcnkoKSAmJiBlbnRyeS5uYW1lICE9PSAnLnZpdGVwcmVzcycpXG4gICAgLmZsYXRNYXAoKHsgbmFtZSB9KSA9PiBbLi4ubWFya2Rvd25JbihgJHtmb2xkZXJ9LyR7bmFtZX1gKSwgLi4ud2FsayhgJHtmb2xkZXJ9LyR7bmFtZX1gKV0pO1xufVxuXG5mdW5jdGlvbiBtYXJrZG93bkluKGZvbGRlcikge1xuICBpZiAoIXN0YXRTeW5jKGpvaW4ocm9vdCwgZm9sZGVyKSkuaXNEaXJlY3RvcnkoKSkgcmV0dXJuIFtdO1xuICByZXR1cm4gcmVhZGRpclN5bmMoam9pbihyb290LCBmb2xkZXIpKVxuICAgIC5maWx0ZXIoKG5hbWUpID0+IG5hbWUuZW5kc1dpdGgoJy5tZCcpKVxuICAgIC5tYXAoKG5hbWUpID0+IChmb2xkZXIgPT09ICcuJyA/IG5hbWUgOiBgJHtmb2xkZXJ9LyR7bmFtZX1gKSk7XG59XG5cbi8qKiBXaGV0aGVyIGEgZmlsZSBvZiB0aGUgcmVwb3NpdG9yeSBpcyB0aGVyZSBhbmQgYSBwYWdlLiAqL1xuZXhwb3J0IGZ1bmN0aW9uIGlzUGFnZShmaWxlKSB7XG4gIHJldHVybiBwbGFjZU9mKGZpbGUpICE9PSB1bmRlZmluZWQgJiYgZXhpc3RzU3luYyhqb2luKHJvb3QsIGZpbGUpKTtcbn1cblxuZXhwb3J0IGZ1bmN0aW9uIHJlYWRQYWdlKGZpbGUpIHtcbiAgcmV0dXJuIHJlYWRGaWxlU3luYyhqb2luKHJvb3QsIGZpbGUpLCAndXRmOCcpO1xufVxuXG4vKiogVGhlIHRpdGxlIG9mIGEgcGFnZTogaXRzIGZpcnN0IGhlYWRpbmcgYXMgcGxhaW4gdGV4dCwgb3IgdGhhdCBvZiBpdHMgZnJvbnQgbWF0dGVyLiAqL1xuZXhwb3J0IGZ1bmN0aW9uIHRpdGxlT2YoZmlsZSkge1xuICBjb25zdCB0ZXh0ID0gcmVhZFBhZ2UoZmlsZSk7XG4gIGNvbnN0IHRpdGxlID1cbiAgICB0ZXh0Lm1hdGNoKC9eLS0tXFxuW15dKj9edGl0bGU6ICpbJ1wiXT8oLis/KVsnXCJdPyAqJFteXSo/Xi0tLSQvbSk/LlsxXSA/P1xuICAgIHRleHQubWF0Y2goL14jICsoLis/KSAqIyokL20pPy5bMV07XG4gIGlmICh0aXRsZSA9PT0gdW5kZWZpbmVkKSB0aHJvdyBuZXcgRXJyb3IoYCR7ZmlsZX0gaGFzIG5vIGhlYWRpbmcgdGhhdCBzdGFydHMgd2l0aCBcIiMgXCJgKTtcbiAgcmV0dXJuIHRpdGxlXG4gICAgLnJlcGxhY2UoL1xcWyhbXlxcXV0qKVxcXVxcKFteKV0qXFwpL2csICckMScpXG4gICAgLnJlcGxhY2UoL1xcXFwoLikvZywgJyQxJylcbiAgICAucmVwbGFjZSgvW2AqXS9nLCAnJyk7XG59XG4iLCAiY29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2Rpcm5hbWUgPSBcIi93b3JrL3d0L3BhZ2VzL2RvY3MvLnZpdGVwcmVzc1wiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9maWxlbmFtZSA9IFwiL3dvcmsvd3QvcGFnZXMvZG9jcy8udml0ZXByZXNzL21hbmlmZXN0Lm1qc1wiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9pbXBvcnRfbWV0YV91cmwgPSBcImZpbGU6Ly8vd29yay93dC9wYWdlcy9kb2NzLy52aXRlcHJlc3MvbWFuaWZlc3QubWpzXCI7LyoqIFdoYXQgdGhlIHNpdGUgdGFrZXMgZnJvbSB0aGUgcGFja2FnZS5qc29uIG9mIHRoZSBwYWNrYWdlLCBhbmQgaG93IGl0IGNvcGVzIHdpdGhvdXQgaXQuIFBsYWluIE5vZGUgd2l0aG91dCBkZXBlbmRlbmNpZXMuICovXG5pbXBvcnQgeyByZWFkRmlsZVN5bmMgfSBmcm9tICdub2RlOmZzJztcbmltcG9ydCB7IGpvaW4gfSBmcm9tICdub2RlOnBhdGgnO1xuaW1wb3J0IHsgcm9vdCB9IGZyb20gJy4vcGFnZXMubWpzJztcblxuLyoqIFRoZSBicmFuY2ggdGhhdCB0aGUgc2l0ZSBpcyBidWlsdCBmcm9tLiAqL1xuY29uc3QgQlJBTkNIID0gJ21haW4nO1xuXG4vKipcbiAqIEBwYXJhbSB7eyB2ZXJzaW9uOiBzdHJpbmcsIHJlcG9zaXRvcnk/OiBzdHJpbmcgfCB7IHVybDogc3RyaW5nIH0sIGhvbWVwYWdlPzogc3RyaW5nIH19IG1hbmlmZXN0XG4gKiBAcGFyYW0ge1JlY29yZDxzdHJpbmcsIHN0cmluZyB8IHVuZGVmaW5lZD59IFtlbnZdIGBET0NTX0JBU0VgIGFuZCBgRE9DU19SRVBPU0lUT1JZYCBvdmVycmlkZSB3aGF0IHRoZSBtYW5pZmVzdCBzYXlzXG4gKiBAcmV0dXJucyB7eyB2ZXJzaW9uOiBzdHJpbmcsIGJhc2U6IHN0cmluZywgcmVwb3NpdG9yeT86IHN0cmluZywgc291cmNlT2Y6IChmaWxlOiBzdHJpbmcpID0+IHN0cmluZyB8IHVuZGVmaW5lZCwgZWRpdFBhdHRlcm4/OiBzdHJpbmcgfX1cbiAqICAgYHNvdXJjZU9mYDogd2hlcmUgdGhlIHJlcG9zaXRvcnkgc2hvd3MgYSBmaWxlIG9yIGZvbGRlciwgaWYgaXQgaXMga25vd25cbiAqL1xuZXhwb3J0IGZ1bmN0aW9uIHNldHRpbmdzT2YobWFuaWZlc3QsIGVudiA9IHt9KSB7XG4gIGNvbnN0IHJlcG9zaXRvcnkgPSBlbnZbJ0RPQ1NfUkVQT1NJVE9SWSddIHx8IHdlYkFkZHJlc3NPZihtYW5pZmVzdC5yZXBvc2l0b3J5KTtcbiAgcmV0dXJuIHtcbiAgICB2ZXJzaW9uOiBtYW5pZmVzdC52ZXJzaW9uLFxuICAgIGJhc2U6IGJhc2VPZihlbnZbJ0RPQ1NfQkFTRSddID8/IHBhdGhPZihtYW5pZmVzdC5ob21lcGFnZSkpLFxuICAgIC4uLihyZXBvc2l0b3J5ICYmIHsgcmVwb3NpdG9yeSwgZWRpdFBhdHRlcm46IGAke3JlcG9zaXRvcnl9L2VkaXQvJHtCUkFOQ0h9LzpwYXRoYCB9KSxcbiAgICBzb3VyY2VPZjogKGZpbGUpID0+IHJlcG9zaXRvcnkgJiYgYCR7cmVwb3NpdG9yeX0vYmxvYi8ke0JSQU5DSH0vJHtmaWxlLnJlcGxhY2UoL1xcLyQvLCAnJyl9YCxcbiAgfTtcbn1cblxuLyoqIFRoZSBwYWdlIG9mIGEgcmVwb3NpdG9yeSwgb2YgYW55IG9mIHRoZSB3YXlzIGluIHdoaWNoIG5wbSBsZXRzIGEgbWFuaWZlc3QgbmFtZSBpdC4gKi9cbmZ1bmN0aW9uIHdlYkFkZHJlc3NPZihyZXBvc2l0b3J5KSB7XG4gIGNvbnN0IHVybCA9IHR5cGVvZiByZXBvc2l0b3J5ID09PSAnc3RyaW5nJyA/IHJlcG9zaXRvcnkgOiByZXBvc2l0b3J5Py51cmw7XG4gIGlmICghdXJsKSByZXR1cm4gdW5kZWZpbmVkO1xuICBjb25zdCBzaG9ydCA9IC9eKD86KGdpdGh1YnxnaXRsYWJ8Yml0YnVja2V0KTopPyhbXFx3Li1dK1xcL1tcXHcuLV0rKSQvLmV4ZWModXJsKTtcbiAgaWYgKHNob3J0KSB7XG4gICAgY29uc3QgWywgaG9zdCA9ICdnaXRodWInLCBuYW1lXSA9IHNob3J0O1xuICAgIHJldHVybiBgaHR0cHM6Ly8ke2hvc3R9LiR7aG9zdCA9PT0gJ2JpdGJ1Y2tldCcgPyAnb3JnJyA6ICdjb20nfS8ke25hbWV9YDtcbiAgfVxuICByZXR1cm4gdXJsXG4gICAgLnJlcGxhY2UoL15naXRcXCsvLCAnJylcbiAgICAucmVwbGFjZSgvXig/OnNzaHxnaXQpOlxcL1xcLyg/OmdpdEApPy8sICdodHRwczovLycpXG4gICAgLnJlcGxhY2UoL15naXRAKFteOi9dKyk6LywgJ2h0dHBzOi8vJDEvJylcbiAgICAucmVwbGFjZSgvXFwuZ2l0JC8sICcnKVxuICAgIC5yZXBsYWNlKC9cXC8kLywgJycpO1xufVxuXG4vKiogVGhlIGhvbWVwYWdlIG1heSBiZSBhIHBhZ2Ugb2YgdGhlIHJlcG9zaXRvcnksIHN1Y2ggYXMgaXRzIFJFQURNRTsgdGhlbiB0aGUgc2l0ZSdzIGFkZHJlc3MgaXMgbm90IGtub3duLiAqL1xuZnVuY3Rpb24gcGF0aE9mKGhvbWVwYWdlKSB7XG4gIGlmICghaG9tZXBhZ2UgfHwgaG9tZXBhZ2UuaW5jbHVkZXMoJyMnKSkgcmV0dXJuICcvJztcbiAgcmV0dXJuIG5ldyBVUkwoaG9tZXBhZ2UpLnBhdGhuYW1lO1xufVxuXG5jb25zdCBiYXNlT2YgPSAocGF0aCkgPT4gYC8ke3BhdGgucmVwbGFjZSgvXlxcL3xcXC8kL2csICcnKX0vYC5yZXBsYWNlKCcvLycsICcvJyk7XG5cbmV4cG9ydCBjb25zdCByZWFkTWFuaWZlc3QgPSAoKSA9PiBKU09OLnBhcnNlKHJlYWRGaWxlU3luYyhqb2luKHJvb3QsICdwYWNrYWdlLmpzb24nKSwgJ3V0ZjgnKSk7XG4iLCAiY29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2Rpcm5hbWUgPSBcIi93b3JrL3d0L3BhZ2VzL2RvY3MvLnZpdGVwcmVzc1wiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9maWxlbmFtZSA9IFwiL3dvcmsvd3QvcGFnZXMvZG9jcy8udml0ZXByZXNzL21hcmtkb3duLm1qc1wiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9pbXBvcnRfbWV0YV91cmwgPSBcImZpbGU6Ly8vd29yay93dC9wYWdlcy9kb2NzLy52aXRlcHJlc3MvbWFya2Rvd24ubWpzXCI7LyoqIEhvdyBwYWdlcyBiZWNvbWUgSFRNTCwgYmV5b25kIHdoYXQgVml0ZVByZXNzIGRvZXM6IHRleHQgdGhhdCBpcyBubyB0ZW1wbGF0ZSwgYW5kIGRpYWdyYW1zLiBQbHVnaW5zIGZvciBtYXJrZG93bi1pdC4gKi9cbmltcG9ydCB7IHJlbmRlck1lcm1haWRTVkcgfSBmcm9tICdiZWF1dGlmdWwtbWVybWFpZCc7XG5cbi8qKiBIVE1MIHRoYXQgcGFnZXMgbWF5IHVzZSB3aXRoaW4gYSBsaW5lLiBBbnl0aGluZyBlbHNlIGluIGFuZ2xlIGJyYWNrZXRzIGlzIHRleHQ6IGBQcm9taXNlPFQ+YC4gKi9cbmNvbnN0IElOTElORV9IVE1MID0gL148XFwvPyhhfGFiYnJ8YnJ8Y29kZXxlbXxpbWd8a2JkfHNwYW58c3Ryb25nfHN1YnxzdXApXFxiL2k7XG5cbi8qKiBTaG93cyB0ZXh0IGFzIGl0IGlzIHdyaXR0ZW4uIFZpdGVQcmVzcyB0YWtlcyBge3sgfX1gIGZvciBhIHZhbHVlLCBhbmQgYDxUPmAgZm9yIGEgY29tcG9uZW50LiAqL1xuZXhwb3J0IGZ1bmN0aW9uIHBsYWluVGV4dChtZCkge1xuICBjb25zdCB7IHRleHQgfSA9IG1kLnJlbmRlcmVyLnJ1bGVzO1xuICBtZC5yZW5kZXJlci5ydWxlcy50ZXh0ID0gKC4uLmFyZ3MpID0+IHRleHQoLi4uYXJncykucmVwbGFjZUFsbCgne3snLCAnJiMxMjM7JiMxMjM7Jyk7XG4gIG1kLmNvcmUucnVsZXIucHVzaCgncGxhaW5fdGV4dCcsIChzdGF0ZSkgPT4ge1xuICAgIGZvciAoY29uc3QgeyBjaGlsZHJlbiB9IG9mIHN0YXRlLnRva2Vucykge1xuICAgICAgZm9yIChjb25zdCB0b2tlbiBvZiBjaGlsZHJlbiA/PyBbXSkge1xuICAgICAgICBpZiAodG9rZW4udHlwZSAhPT0gJ2h0bWxfaW5saW5lJyB8fCB0b2tlbi5jb250ZW50LnN0YXJ0c1dpdGgoJzwhLS0nKSkgY29udGludWU7XG4gICAgICAgIGlmICghSU5MSU5FX0hUTUwudGVzdCh0b2tlbi5jb250ZW50KSkgdG9rZW4udHlwZSA9ICd0ZXh0JztcbiAgICAgIH1cbiAgICB9XG4gIH0pO1xufVxuXG4vKiogVGhlIGVtcHR5IGNvcm5lciBvZiBhIHRhYmxlIGlzIHRoZSBoZWFkaW5nIG9mIG5vdGhpbmcsIHdoaWNoIHNjcmVlbiByZWFkZXJzIHdvdWxkIGFubm91bmNlLiAqL1xuZXhwb3J0IGZ1bmN0aW9uIGVtcHR5Q29ybmVycyhtZCkge1xuICBtZC5jb3JlLnJ1bGVyLnB1c2goJ2VtcHR5X2Nvcm5lcnMnLCAoeyB0b2tlbnMgfSkgPT4ge1xuICAgIHRva2Vucy5mb3JFYWNoKCh0b2tlbiwgaW5kZXgpID0+IHtcbiAgICAgIGlmICh0b2tlbi50eXBlICE9PSAndGhfb3BlbicgfHwgdG9rZW5zW2luZGV4ICsgMV0uY29udGVudCAhPT0gJycpIHJldHVybjtcbiAgICAgIHRva2VuLnRhZyA9IHRva2Vuc1tpbmRleCArIDJdLnRhZyA9ICd0ZCc7XG4gICAgfSk7XG4gIH0pO1xufVxuXG4vKiogQWxlcnRzIHN1Y2ggYXMgYFshQ0FVVElPTl1gIGdldCB0aGUgdGl0bGUgb2YgdGhlIHBhZ2UncyBsYW5ndWFnZS4gKi9cbmV4cG9ydCBmdW5jdGlvbiBhbGVydFRpdGxlcyhtZCwgdGl0bGVzKSB7XG4gIG1kLmNvcmUucnVsZXIucHVzaCgnYWxlcnRfdGl0bGVzJywgKHsgdG9rZW5zLCBlbnYgfSkgPT4ge1xuICAgIGNvbnN0IG93biA9IHRpdGxlc1tlbnYubG9jYWxlSW5kZXhdID8/IHt9O1xuICAgIGZvciAoY29uc3QgeyB0eXBlLCBtZXRhIH0gb2YgdG9rZW5zKSB7XG4gICAgICBpZiAodHlwZSA9PT0gJ2dpdGh1Yl9hbGVydF9vcGVuJykgbWV0YS50aXRsZSA9IG93blttZXRhLnR5cGVdID8/IG1ldGEudGl0bGU7XG4gICAgfVxuICB9KTtcbn1cblxuLyoqXG4gKiBEcmF3cyBNZXJtYWlkIGRpYWdyYW1zIHdoZW4gdGhlIHNpdGUgaXMgYnVpbHQsIHNvIHRoYXQgcmVhZGVycyBsb2FkIG5vIGxpYnJhcnkgZm9yIHRoZW0uIENvbG91cnMgYXJlIHRob3NlIG9mIHRoZSB0aGVtZVxuICogKHRoZW1lL3N0eWxlLmNzcykuIGBhY2NUaXRsZWAsIHdoaWNoIHRoZSByZXBvc2l0b3J5J3Mgb3duIHJlbmRlcmVyIGtub3dzLCB0b28sIGlzIHdoYXQgc2NyZWVuIHJlYWRlcnMgc2F5LlxuICovXG5leHBvcnQgZnVuY3Rpb24gZGlhZ3JhbXMobWQpIHtcbiAgY29uc3QgeyBmZW5jZSB9ID0gbWQucmVuZGVyZXIucnVsZXM7XG4gIGxldCBjb3VudCA9IDA7XG4gIG1kLnJlbmRlcmVyLnJ1bGVzLmZlbmNlID0gKC4uLmFyZ3MpID0+IHtcbiAgICBjb25zdCBbdG9rZW5zLCBpbmRleF0gPSBhcmdzO1xuICAgIGNvbnN0IHsgaW5mbywgY29udGVudCB9ID0gdG9rZW5zW2luZGV4XTtcbiAgICBpZiAoaW5mby50cmltKCkgIT09ICdtZXJtYWlkJykgcmV0dXJuIGZlbmNlKC4uLmFyZ3MpO1xuICAgIGNvdW50ICs9IDE7XG4gICAgcmV0dXJuIGRyYXduKGNvbnRlbnQsIGBkaWFncmFtLSR7Y291bnR9YCk7XG4gIH07XG59XG5cbmZ1bmN0aW9uIGRyYXduKHNvdXJjZSwgaWQpIHtcbiAgY29uc3QgdGl0bGUgPSAvXlxccyphY2NUaXRsZTogKiguKz8pICokL20uZXhlYyhzb3VyY2UpPy5bMV07XG4gIGlmICh0aXRsZSA9PT0gdW5kZWZpbmVkKSB0aHJvdyBuZXcgRXJyb3IoYEEgZGlhZ3JhbSBoYXMgbm8gbGluZSBcImFjY1RpdGxlOiBcdTIwMjZcIjpcXG4ke3NvdXJjZX1gKTtcbiAgY29uc3QgY29sb3VycyA9IHsgYmc6ICd2YXIoLS12cC1jLWJnKScsIGZnOiAndmFyKC0tdnAtYy10ZXh0LTEpJywgdHJhbnNwYXJlbnQ6IHRydWUgfTtcbiAgY29uc3Qgc3ZnID0gcmVuZGVyTWVybWFpZFNWRyhzb3VyY2UucmVwbGFjZSgvXlxccyphY2NUaXRsZTouKlxcbi9tLCAnJyksIGNvbG91cnMpXG4gICAgLy8gU3R5bGVzIGFyZSBpbiB0aGVtZS9zdHlsZS5jc3M6IHRoZXNlIHdvdWxkIGxvYWQgYSBmb250IGZyb20gZWxzZXdoZXJlLlxuICAgIC5yZXBsYWNlKC88c3R5bGU+W15dKj88XFwvc3R5bGU+L2csICcnKVxuICAgIC5yZXBsYWNlKC8gc3R5bGU9XCItLWJnW15cIl0qXCIvLCAnJylcbiAgICAvLyBJZHMgYXJlIHVuaXF1ZSBpbiBhIHBhZ2Ugb25seSBpZiB0aGV5IG5hbWUgdGhlIGRpYWdyYW0uXG4gICAgLnJlcGxhY2UoLyBpZD1cIihbXlwiXSspXCIvZywgYCBpZD1cIiR7aWR9LSQxXCJgKVxuICAgIC5yZXBsYWNlKC91cmxcXCgjKFteKV0rKVxcKS9nLCBgdXJsKCMke2lkfS0kMSlgKVxuICAgIC5yZXBsYWNlKCc8c3ZnICcsIGA8c3ZnIHJvbGU9XCJpbWdcIiBhcmlhLWxhYmVsPVwiJHtlc2NhcGVkKHRpdGxlKX1cIiBgKTtcbiAgLy8gQXMgdGhlIHRoZW1lJ3MgY29kZSBibG9ja3M6IGEga2V5Ym9hcmQgY2FuIHNjcm9sbCBpdC5cbiAgcmV0dXJuIGA8ZGl2IGNsYXNzPVwiZGlhZ3JhbVwiIHRhYmluZGV4PVwiMFwiIHYtcHJlPiR7c3ZnfTwvZGl2PlxcbmA7XG59XG5cbmNvbnN0IGVzY2FwZWQgPSAodGV4dCkgPT4gdGV4dC5yZXBsYWNlQWxsKCcmJywgJyZhbXA7JykucmVwbGFjZUFsbCgnXCInLCAnJnF1b3Q7JykucmVwbGFjZUFsbCgnPCcsICcmbHQ7Jyk7XG4iLCAiY29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2Rpcm5hbWUgPSBcIi93b3JrL3d0L3BhZ2VzL2RvY3MvLnZpdGVwcmVzc1wiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9maWxlbmFtZSA9IFwiL3dvcmsvd3QvcGFnZXMvZG9jcy8udml0ZXByZXNzL3NlYXJjaC5tanNcIjtjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfaW1wb3J0X21ldGFfdXJsID0gXCJmaWxlOi8vL3dvcmsvd3QvcGFnZXMvZG9jcy8udml0ZXByZXNzL3NlYXJjaC5tanNcIjsvKiogVGhlIG9wdGlvbnMgb2YgTWluaVNlYXJjaCwgZm9yIHRoZSBzZWFyY2ggYm94IGFuZCBmb3IgaXRzIHRlc3QuICovXG5leHBvcnQgY29uc3QgbWluaVNlYXJjaCA9IHtcbiAgb3B0aW9uczoge1xuICAgIC8vIENoaW5lc2UgaGFzIG5vIHNwYWNlcyBiZXR3ZWVuIHdvcmRzOiBlYWNoIGNoYXJhY3RlciBpcyBvbmUuIChWaXRlUHJlc3Mgc2VuZHMgdGhpcyBmdW5jdGlvbiB0byB0aGUgYnJvd3Nlci4pXG4gICAgdG9rZW5pemU6ICh0ZXh0KSA9PlxuICAgICAgdGV4dFxuICAgICAgICAuc3BsaXQoL1tcXG5cXHJcXHB7Wn1cXHB7UH1cXHB7U31dK3woPzw9XFxwe1NjcmlwdD1IYW59KXwoPz1cXHB7U2NyaXB0PUhhbn0pL3UpXG4gICAgICAgIC5maWx0ZXIoKHdvcmQpID0+IHdvcmQgIT09ICcnKSxcbiAgfSxcbiAgc2VhcmNoT3B0aW9uczoge1xuICAgIC8vIEEgbGluZSBvZiBhIGxvZyBoYXMgd29yZHMgdGhhdCBubyBwYWdlIGhhcywgc3VjaCBhcyBhIGtleS5cbiAgICBjb21iaW5lV2l0aDogJ09SJyxcbiAgICAvLyBPbmUgd3JvbmcgbGV0dGVyLCBvciB0d28gaW4gbG9uZyB3b3JkczogXCJkZWFkbG9ja1wiIGlzIG5vdCBcInJlZGxvY2tcIi5cbiAgICBmdXp6eTogMC4xNSxcbiAgICAvLyBXaGF0IHJlYWRlcnMgbG9vayBmb3IgaXMgcmF0aGVyIGluIGEgZ3VpZGUgdGhhbiBpbiBvbmUgb2YgbWFueSB0eXBlcywgaW4gYW4gZXhhbXBsZSBvciBpbiBhIHBhZ2UgZm9yIG1haW50YWluZXJzLlxuICAgIGJvb3N0RG9jdW1lbnQ6IChpZCkgPT5cbiAgICAgIC9cXC9yZWZlcmVuY2VcXC9hcGlcXC8vLnRlc3QoaWQpID8gMC41IDogL1xcL2ludGVybmFsc1xcL3xcXC9jaGFuZ2Vsb2d8XFwvZXhhbXBsZXNcXC8vLnRlc3QoaWQpID8gMC4yIDogMSxcbiAgfSxcbn07XG4iLCAiY29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2Rpcm5hbWUgPSBcIi93b3JrL3d0L3BhZ2VzL2RvY3MvLnZpdGVwcmVzc1wiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9maWxlbmFtZSA9IFwiL3dvcmsvd3QvcGFnZXMvZG9jcy8udml0ZXByZXNzL3NpZGViYXIubWpzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ltcG9ydF9tZXRhX3VybCA9IFwiZmlsZTovLy93b3JrL3d0L3BhZ2VzL2RvY3MvLnZpdGVwcmVzcy9zaWRlYmFyLm1qc1wiOy8qKlxuICogVGhlIHNpZGViYXIsIG1hZGUgb2YgdGhlIHBhZ2VzIHRoYXQgdGhlcmUgYXJlOiBhIHNlY3Rpb24gc2hvd3MgYWxsIHBhZ2VzIG9mIGl0cyBmb2xkZXIuIGBvcmRlcmAgbGlzdHMgdGhvc2UgdGhhdCBjb21lXG4gKiBmaXJzdCwgd2l0aG91dCB0aGUgZW5kaW5nOyB0aGUgb3RoZXJzIGZvbGxvdyBieSB0aXRsZS4gQSBmb2xkZXIgd2l0aGluIGl0IGJlY29tZXMgYSBzZWN0aW9uIHdpdGhpbiB0aGUgc2VjdGlvbi4gUGxhaW4gTm9kZVxuICogd2l0aG91dCBkZXBlbmRlbmNpZXMuXG4gKi9cbmltcG9ydCB7IEFQSV9GT0xERVIsIGFkZHJlc3NPZiwgcGFnZUZpbGVzLCBwbGFjZU9mLCB0aXRsZU9mIH0gZnJvbSAnLi9wYWdlcy5tanMnO1xuXG4vKipcbiAqIEB0eXBlZGVmIHtvYmplY3R9IFNlY3Rpb25cbiAqIEBwcm9wZXJ0eSB7eyBlbjogc3RyaW5nLCB6aDogc3RyaW5nIH19IHRleHRcbiAqIEBwcm9wZXJ0eSB7c3RyaW5nfSBmb2xkZXIgb2YgdGhlIHNpdGVcbiAqIEBwcm9wZXJ0eSB7cmVhZG9ubHkgc3RyaW5nW119IG9yZGVyIG5hbWVzIG9mIHBhZ2VzIGluIHRoaXMgZm9sZGVyOyBgaW5kZXhgIGNvbWVzIGZpcnN0IHdpdGhvdXQgYmVpbmcgbGlzdGVkXG4gKiBAcHJvcGVydHkge2Jvb2xlYW59IFtpc09wZW5dIHdoZXRoZXIgaXQgaXMgdW5mb2xkZWQgb24gZXZlcnkgcGFnZVxuICogQHByb3BlcnR5IHtyZWFkb25seSBPbWl0PFNlY3Rpb24sICdmb2xkZXInIHwgJ2lzT3Blbic+W119IFtncm91cHNdIHBhZ2VzIG9mIHRoZSBmb2xkZXIgdW5kZXIgYSBoZWFkaW5nIG9mIHRoZWlyIG93blxuICogQHByb3BlcnR5IHtyZWFkb25seSBzdHJpbmdbXX0gW2Fsc29dIHBhZ2VzIG9mIG90aGVyIGZvbGRlcnMsIHdpdGggaXRcbiAqL1xuXG4vKipcbiAqIEFzIFZpdGVQcmVzcyB0YWtlcyBpdC5cbiAqXG4gKiBAdHlwZWRlZiB7eyB0ZXh0OiBzdHJpbmcsIGxpbms/OiBzdHJpbmcsIGNvbGxhcHNlZD86IGJvb2xlYW4sIGl0ZW1zPzogSXRlbVtdIH19IEl0ZW1cbiAqL1xuXG4vKiogQHR5cGUge3JlYWRvbmx5IFNlY3Rpb25bXX0gKi9cbmNvbnN0IFNFQ1RJT05TID0gW1xuICB7XG4gICAgdGV4dDogeyBlbjogJ0ludHJvZHVjdGlvbicsIHpoOiAnXHU0RUNCXHU3RUNEJyB9LFxuICAgIGZvbGRlcjogJ2ludHJvZHVjdGlvbicsXG4gICAgb3JkZXI6IFsnd2h5JywgJ3F1aWNrLXN0YXJ0JywgJ2Nob29zaW5nLWEtc3RvcmUnLCAncGVyZm9ybWFuY2UnXSxcbiAgICBpc09wZW46IHRydWUsXG4gIH0sXG4gIHtcbiAgICB0ZXh0OiB7IGVuOiAnR3VpZGVzJywgemg6ICdcdTYzMDdcdTUzNTcnIH0sXG4gICAgZm9sZGVyOiAnZ3VpZGVzJyxcbiAgICBvcmRlcjogW10sXG4gICAgZ3JvdXBzOiBbXG4gICAgICB7XG4gICAgICAgIHRleHQ6IHsgZW46ICdLaW5kcyBvZiBsb2NrJywgemg6ICdcdTk1MDFcdTc2ODRcdTc5Q0RcdTdDN0InIH0sXG4gICAgICAgIG9yZGVyOiBbJ2V4Y2x1c2l2ZScsICdyZS1lbnRyYW50JywgJ2ZhaXInLCAncmVhZC13cml0ZScsICdzZW1hcGhvcmUnLCAnc2V2ZXJhbC1rZXlzJ10sXG4gICAgICB9LFxuICAgICAge1xuICAgICAgICB0ZXh0OiB7IGVuOiAnUGF0dGVybnMnLCB6aDogJ1x1NUUzOFx1ODlDMVx1OTVFRVx1OTg5OCcgfSxcbiAgICAgICAgb3JkZXI6IFtcbiAgICAgICAgICAncGF5bWVudHMnLFxuICAgICAgICAgICd0cmFuc2FjdGlvbnMnLFxuICAgICAgICAgICdzY2hlZHVsZWQtam9icycsXG4gICAgICAgICAgJ2xlYWRlci1lbGVjdGlvbicsXG4gICAgICAgICAgJ2ZlbmNpbmcnLFxuICAgICAgICAgICdzdG9yZS11bmF2YWlsYWJsZScsXG4gICAgICAgICAgJ2luc3BlY3RpbmcnLFxuICAgICAgICBdLFxuICAgICAgfSxcbiAgICAgIHtcbiAgICAgICAgdGV4dDogeyBlbjogJ0ZlYXR1cmVzJywgemg6ICdcdTUyOUZcdTgwRkQnIH0sXG4gICAgICAgIG9yZGVyOiBbXG4gICAgICAgICAgJ2xvY2stc2VydmljZScsXG4gICAgICAgICAgJ2hhbmRsZXJzLWFuZC1zdHJlYW1zJyxcbiAgICAgICAgICAndHJhbnNwb3J0cycsXG4gICAgICAgICAgJ2J1bGxtcScsXG4gICAgICAgICAgJ2RlY29yYXRvcnMnLFxuICAgICAgICAgICdjb25maWd1cmF0aW9uJyxcbiAgICAgICAgICAnb25lLWxvY2std2l0aC1qYXZhJyxcbiAgICAgICAgICAnZXZlbnRzJyxcbiAgICAgICAgXSxcbiAgICAgIH0sXG4gICAgICB7XG4gICAgICAgIHRleHQ6IHsgZW46ICdUZXN0cycsIHpoOiAnXHU2RDRCXHU4QkQ1JyB9LFxuICAgICAgICBvcmRlcjogWyd0ZXN0aW5nJywgJ3Rlc3RpbmctZmFpbHVyZXMnXSxcbiAgICAgIH0sXG4gICAgXSxcbiAgfSxcbiAge1xuICAgIHRleHQ6IHsgZW46ICdFeGFtcGxlcycsIHpoOiAnXHU3OTNBXHU0RjhCJyB9LFxuICAgIGZvbGRlcjogJ2V4YW1wbGVzJyxcbiAgICBvcmRlcjogWydzYW1wbGUtYXBwJ10sXG4gIH0sXG4gIHtcbiAgICB0ZXh0OiB7IGVuOiAnT3BlcmF0aW9ucycsIHpoOiAnXHU4RkQwXHU3RUY0JyB9LFxuICAgIGZvbGRlcjogJ29wZXJhdGlvbnMnLFxuICAgIG9yZGVyOiBbJ2t1YmVybmV0ZXMnLCAnbW9uaXRvcmluZycsICdwYWdlJywgJ3NjYWxpbmcnLCAncnVuYm9vaycsICd0cm91Ymxlc2hvb3RpbmcnXSxcbiAgfSxcbiAge1xuICAgIHRleHQ6IHsgZW46ICdTYWZldHknLCB6aDogJ1x1NUI4OVx1NTE2OFx1NjAyNycgfSxcbiAgICBmb2xkZXI6ICdzYWZldHknLFxuICAgIG9yZGVyOiBbXSxcbiAgfSxcbiAge1xuICAgIHRleHQ6IHsgZW46ICdTdG9yZXMnLCB6aDogJ1x1NUI1OFx1NTBBOCcgfSxcbiAgICBmb2xkZXI6ICdzdG9yZXMnLFxuICAgIG9yZGVyOiBbXG4gICAgICAncmVkaXMnLFxuICAgICAgJ21hbmFnZWQtc2VydmljZXMnLFxuICAgICAgJ3Bvc3RncmVzJyxcbiAgICAgICdldGNkJyxcbiAgICAgICd6b29rZWVwZXInLFxuICAgICAgJ3JlZGlzc29uJyxcbiAgICAgICdjdXN0b20tc3RvcmUnLFxuICAgIF0sXG4gIH0sXG4gIHtcbiAgICB0ZXh0OiB7IGVuOiAnQ29taW5nIGZyb20gXHUyMDI2Jywgemg6ICdcdTRFQ0VcdTUxNzZcdTRFRDZcdTVFOTNcdThGQzFcdTc5RkInIH0sXG4gICAgZm9sZGVyOiAnY29taW5nLWZyb20nLFxuICAgIG9yZGVyOiBbJ3JlZGlzc29uJywgJ2phdmEnLCAnbm9kZS1saWJyYXJpZXMnXSxcbiAgfSxcbiAge1xuICAgIHRleHQ6IHsgZW46ICdSZWZlcmVuY2UnLCB6aDogJ1x1NTNDMlx1ODAwMycgfSxcbiAgICBmb2xkZXI6ICdyZWZlcmVuY2UnLFxuICAgIG9yZGVyOiBbJ2JlaGF2aW91cicsICdjb21tYW5kLWxpbmUnXSxcbiAgICBhbHNvOiBbJ3JlZmVyZW5jZS9hcGkvaW5kZXgubWQnXSxcbiAgfSxcbiAge1xuICAgIHRleHQ6IHsgZW46ICdJbnRlcm5hbHMnLCB6aDogJ1x1NTE4NVx1OTBFOFx1NUI5RVx1NzNCMCcgfSxcbiAgICBmb2xkZXI6ICdpbnRlcm5hbHMnLFxuICAgIG9yZGVyOiBbJ2hvdy1pdC13b3JrcycsICdsaWZlLW9mLWEtbG9jaycsICdwcm9vZicsICdiZW5jaCcsICdjb250cmlidXRpbmcnXSxcbiAgfSxcbl07XG5cbi8qKiBOYW1lcyBvZiBmb2xkZXJzIHdpdGhpbiBhIGZvbGRlciB0aGF0IGhhdmUgbm8gcGFnZSBvZiB0aGVpciBvd24gdG8gdGFrZSBpdCBmcm9tLiAqL1xuY29uc3QgVEVYVFMgPSB7ICdpbnRlcm5hbHMvZGVjaXNpb25zJzogeyBlbjogJ0RlY2lzaW9ucycsIHpoOiAnXHU4QkJFXHU4QkExXHU1MUIzXHU3QjU2JyB9IH07XG5jb25zdCBPVkVSVklFVyA9IHsgZW46ICdPdmVydmlldycsIHpoOiAnXHU2OTgyXHU4OUM4JyB9O1xuXG4vKiogUGFnZXMgYmVzaWRlIHRoZSBzZWN0aW9ucywgYWZ0ZXIgdGhlbS4gKi9cbmNvbnN0IExBU1QgPSBbJ3VwZ3JhZGluZy5tZCcsICdjaGFuZ2Vsb2cubWQnLCAnc2VjdXJpdHkubWQnXTtcbi8qKiBQYWdlcyB0aGF0IGFyZSByZWFjaGVkIGluIGFub3RoZXIgd2F5OiB0aGUgaG9tZSBwYWdlLiAqL1xuY29uc3QgSU5fTk9fU0VDVElPTiA9IFsnaW5kZXgubWQnXTtcblxuY29uc3QgQVBJX1BMQUNFID0gcGxhY2VPZihgJHtBUElfRk9MREVSfS9SRUFETUUubWRgKS5yZXBsYWNlKC9cXC9pbmRleFxcLm1kJC8sICcnKTtcblxuY29uc3QgYnkgPSAob25lLCBvdGhlcikgPT4gb25lLmxvY2FsZUNvbXBhcmUob3RoZXIsICdlbicsIHsgbnVtZXJpYzogdHJ1ZSB9KTtcbmNvbnN0IG5hbWVJbiA9IChwbGFjZSkgPT4gcGxhY2UucmVwbGFjZSgvXi4qXFwvfFxcLm1kJC9nLCAnJyk7XG5jb25zdCBpc0luID0gKGZvbGRlciwgcGxhY2UpID0+XG4gIHBsYWNlLnN0YXJ0c1dpdGgoYCR7Zm9sZGVyfS9gKSAmJiAhcGxhY2Uuc2xpY2UoZm9sZGVyLmxlbmd0aCArIDEpLmluY2x1ZGVzKCcvJyk7XG5cbi8qKlxuICogVGhlIHNpZGViYXIgb2YgYSBsb2NhbGUuXG4gKlxuICogQHBhcmFtIHsnZW4nIHwgJ3poJ30gbG9jYWxlXG4gKiBAcGFyYW0ge3JlYWRvbmx5IHN0cmluZ1tdfSBbZmlsZXNdIHRoZSBwYWdlcywgcmVsYXRpdmUgdG8gdGhlIHJvb3Qgb2YgdGhlIHJlcG9zaXRvcnlcbiAqIEByZXR1cm5zIHtJdGVtW119XG4gKi9cbmV4cG9ydCBmdW5jdGlvbiBzaWRlYmFyT2YobG9jYWxlLCBmaWxlcyA9IHBhZ2VGaWxlcygpKSB7XG4gIGNvbnN0IHByZWZpeCA9IGxvY2FsZSA9PT0gJ2VuJyA/ICcnIDogYCR7bG9jYWxlfS9gO1xuICBjb25zdCB0aXRsZXMgPSBuZXcgTWFwKFxuICAgIGZpbGVzXG4gICAgICAubWFwKChmaWxlKSA9PiBbcGxhY2VPZihmaWxlKSwgZmlsZV0pXG4gICAgICAuZmlsdGVyKChbcGxhY2VdKSA9PiBwbGFjZS5zdGFydHNXaXRoKHByZWZpeCkgJiYgaXNJbkxvY2FsZShwbGFjZSwgbG9jYWxlKSlcbiAgICAgIC5tYXAoKFtwbGFjZSwgZmlsZV0pID0+IFtwbGFjZSwgKCkgPT4gdGl0bGVPZihmaWxlKV0pLFxuICApO1xuICBjb25zdCBpdGVtID0gKHBsYWNlKSA9PiAoeyB0ZXh0OiB0aXRsZXMuZ2V0KHBsYWNlKSgpLCBsaW5rOiBhZGRyZXNzT2YocGxhY2UpIH0pO1xuICBjb25zdCBpbk9yZGVyID0gKHBsYWNlcywgb3JkZXIpID0+IHtcbiAgICBjb25zdCByYW5rID0gKHBsYWNlKSA9PiAob3JkZXIuaW5jbHVkZXMobmFtZUluKHBsYWNlKSkgPyBvcmRlci5pbmRleE9mKG5hbWVJbihwbGFjZSkpIDogb3JkZXIubGVuZ3RoKTtcbiAgICAvLyBEZWNpc2lvbnMgYW5kIHRoZSBsaWtlIGhhdmUgdGhlaXIgbnVtYmVyIGluIHRoZSBuYW1lLlxuICAgIGNvbnN0IGlzTnVtYmVyZWQgPSAocGxhY2UpID0+IC9cXC9cXGQrLVteL10rJC8udGVzdChwbGFjZSk7XG4gICAgcmV0dXJuIFsuLi5wbGFjZXNdLnNvcnQoXG4gICAgICAob25lLCBvdGhlcikgPT5cbiAgICAgICAgcmFuayhvbmUpIC0gcmFuayhvdGhlcikgfHxcbiAgICAgICAgKGlzTnVtYmVyZWQob25lKSA/IGJ5KG9uZSwgb3RoZXIpIDogYnkodGl0bGVzLmdldChvbmUpKCksIHRpdGxlcy5nZXQob3RoZXIpKCkpKSxcbiAgICApO1xuICB9O1xuXG4gIGZ1bmN0aW9uIGdyb3VwT2YoeyB0ZXh0LCBmb2xkZXIsIG9yZGVyID0gW10sIGdyb3VwcyA9IFtdLCBhbHNvID0gW10sIGlzT3BlbiB9KSB7XG4gICAgY29uc3Qgb3duID0gWy4uLnRpdGxlcy5rZXlzKCldLmZpbHRlcigocGxhY2UpID0+IGlzSW4ocHJlZml4ICsgZm9sZGVyLCBwbGFjZSkpO1xuICAgIGNvbnN0IGlzSW5kZXggPSAocGxhY2UpID0+IHBsYWNlLmVuZHNXaXRoKCcvaW5kZXgubWQnKTtcbiAgICBjb25zdCBncm91cGVkID0gZ3JvdXBzLm1hcCgoZ3JvdXApID0+ICh7XG4gICAgICB0ZXh0OiBncm91cC50ZXh0W2xvY2FsZV0sXG4gICAgICBpdGVtczogaW5PcmRlcihcbiAgICAgICAgb3duLmZpbHRlcigocGxhY2UpID0+IGdyb3VwLm9yZGVyLmluY2x1ZGVzKG5hbWVJbihwbGFjZSkpKSxcbiAgICAgICAgZ3JvdXAub3JkZXIsXG4gICAgICApLm1hcChpdGVtKSxcbiAgICB9KSk7XG4gICAgY29uc3QgaXNHcm91cGVkID0gKHBsYWNlKSA9PiBncm91cHMuc29tZSgoZ3JvdXApID0+IGdyb3VwLm9yZGVyLmluY2x1ZGVzKG5hbWVJbihwbGFjZSkpKTtcbiAgICBjb25zdCByZXN0ID0gaW5PcmRlcihcbiAgICAgIG93bi5maWx0ZXIoKHBsYWNlKSA9PiAhaXNJbmRleChwbGFjZSkgJiYgIWlzR3JvdXBlZChwbGFjZSkpLFxuICAgICAgb3JkZXIsXG4gICAgKTtcbiAgICBjb25zdCBpdGVtcyA9IFtcbiAgICAgIC4uLm93bi5maWx0ZXIoaXNJbmRleCkubWFwKChwbGFjZSkgPT4gKHsgLi4uaXRlbShwbGFjZSksIHRleHQ6IE9WRVJWSUVXW2xvY2FsZV0gfSkpLFxuICAgICAgLi4uZ3JvdXBlZC5maWx0ZXIoKHsgaXRlbXMgfSkgPT4gaXRlbXMubGVuZ3RoID4gMCksXG4gICAgICAuLi5yZXN0Lm1hcChpdGVtKSxcbiAgICAgIC4uLmFsc29cbiAgICAgICAgLm1hcCgocGxhY2UpID0+IHByZWZpeCArIHBsYWNlKVxuICAgICAgICAuZmlsdGVyKChwbGFjZSkgPT4gdGl0bGVzLmhhcyhwbGFjZSkpXG4gICAgICAgIC5tYXAoaXRlbSksXG4gICAgICAuLi5mb2xkZXJzSW4oZm9sZGVyKVxuICAgICAgICAubWFwKChpbm5lcikgPT4gZ3JvdXBPZih7IHRleHQ6IFRFWFRTW2lubmVyXSA/PyB0ZXh0T2YoaW5uZXIpLCBmb2xkZXI6IGlubmVyIH0pKVxuICAgICAgICAuZmlsdGVyKChncm91cCkgPT4gZ3JvdXAgIT09IHVuZGVmaW5lZCksXG4gICAgXTtcbiAgICBpZiAoaXRlbXMubGVuZ3RoID09PSAwKSByZXR1cm4gdW5kZWZpbmVkO1xuICAgIGNvbnN0IGZpcnN0ID0gaXRlbXNbMF0ubGluayA/PyBpdGVtc1swXS5pdGVtc1swXS5saW5rO1xuICAgIGlmIChmb2xkZXIgPT09ICdyZWZlcmVuY2UnICYmIGxvY2FsZSA9PT0gJ2VuJykgaXRlbXMucHVzaCguLi5hcGlFbnRyaWVzKGZpbGVzKSk7XG4gICAgLy8gSGVhZGluZ3MgbGVhZCB0byBhIHBhZ2U6IG90aGVyd2lzZSB0aGVpciB0d28gYnV0dG9ucywgb25lIHdpdGhpbiB0aGUgb3RoZXIsIHdvdWxkIGNvbmZ1c2Ugc2NyZWVuIHJlYWRlcnMuXG4gICAgcmV0dXJuIHsgdGV4dDogdGV4dFtsb2NhbGVdLCBsaW5rOiBmaXJzdCwgY29sbGFwc2VkOiBpc09wZW4gIT09IHRydWUsIGl0ZW1zIH07XG4gIH1cblxuICBmdW5jdGlvbiBmb2xkZXJzSW4oZm9sZGVyKSB7XG4gICAgY29uc3QgYWJvdmUgPSBgJHtwcmVmaXh9JHtmb2xkZXJ9L2A7XG4gICAgY29uc3QgaW5uZXIgPSBbLi4udGl0bGVzLmtleXMoKV1cbiAgICAgIC5maWx0ZXIoKHBsYWNlKSA9PiBwbGFjZS5zdGFydHNXaXRoKGFib3ZlKSAmJiBwbGFjZS5zbGljZShhYm92ZS5sZW5ndGgpLmluY2x1ZGVzKCcvJykpXG4gICAgICAubWFwKChwbGFjZSkgPT4gYCR7Zm9sZGVyfS8ke3BsYWNlLnNsaWNlKGFib3ZlLmxlbmd0aCkuc3BsaXQoJy8nKVswXX1gKTtcbiAgICByZXR1cm4gWy4uLm5ldyBTZXQoaW5uZXIpXS5maWx0ZXIoKG5hbWUpID0+IG5hbWUgIT09IEFQSV9QTEFDRSkuc29ydCgpO1xuICB9XG5cbiAgLyoqIFRoZSBuYW1lIG9mIGEgZm9sZGVyOiB0aGUgdGl0bGUgb2YgaXRzIGZpcnN0IHBhZ2UuICovXG4gIGZ1bmN0aW9uIHRleHRPZihmb2xkZXIpIHtcbiAgICBjb25zdCBpbmRleCA9IGAke3ByZWZpeH0ke2ZvbGRlcn0vaW5kZXgubWRgO1xuICAgIHJldHVybiB7IFtsb2NhbGVdOiB0aXRsZXMuaGFzKGluZGV4KSA/IHRpdGxlcy5nZXQoaW5kZXgpKCkgOiBmb2xkZXIucmVwbGFjZSgvXi4qXFwvLywgJycpIH07XG4gIH1cblxuICBjb25zdCBsYXN0ID0gTEFTVC5tYXAoKHBsYWNlKSA9PiBwcmVmaXggKyBwbGFjZSkuZmlsdGVyKChwbGFjZSkgPT4gdGl0bGVzLmhhcyhwbGFjZSkpO1xuICByZXR1cm4gWy4uLlNFQ1RJT05TLm1hcChncm91cE9mKS5maWx0ZXIoKGdyb3VwKSA9PiBncm91cCAhPT0gdW5kZWZpbmVkKSwgLi4ubGFzdC5tYXAoaXRlbSldO1xufVxuXG4vKipcbiAqIFRoZSBzaWRlYmFycyBvZiBhIGxvY2FsZSBieSBhZGRyZXNzLCBhcyBWaXRlUHJlc3MgdGFrZXMgdGhlbS4gRXZlcnkgcGFnZSBvZiB0aGUgc2l0ZSByZXBlYXRzIGl0cyBzaWRlYmFyLCBzbyB0aGUgc2VjdGlvbnNcbiAqIG9mIG90aGVyIHBhZ2VzIGFyZSBvbmx5IGhlYWRpbmdzLCB3aGljaCBsZWFkIHRoZXJlLiBgSW50cm9kdWN0aW9uYCBpcyBjb21wbGV0ZSBvbiBldmVyeSBwYWdlLlxuICpcbiAqIEBwYXJhbSB7J2VuJyB8ICd6aCd9IGxvY2FsZVxuICogQHBhcmFtIHtyZWFkb25seSBzdHJpbmdbXX0gW2ZpbGVzXVxuICogQHJldHVybnMge1JlY29yZDxzdHJpbmcsIEl0ZW1bXT59XG4gKi9cbmV4cG9ydCBmdW5jdGlvbiBzaWRlYmFyc09mKGxvY2FsZSwgZmlsZXMgPSBwYWdlRmlsZXMoKSkge1xuICBjb25zdCBhYm92ZSA9IGxvY2FsZSA9PT0gJ2VuJyA/ICcvJyA6IGAvJHtsb2NhbGV9L2A7XG4gIGNvbnN0IGFsbCA9IHNpZGViYXJPZihsb2NhbGUsIGZpbGVzKTtcbiAgY29uc3QgdGV4dHMgPSBTRUNUSU9OUy5tYXAoKHsgdGV4dCwgZm9sZGVyLCBpc09wZW4gfSkgPT4gKHsgdGV4dDogdGV4dFtsb2NhbGVdLCBmb2xkZXIsIGlzT3BlbiB9KSk7XG4gIGNvbnN0IGFyb3VuZCA9IChmb2xkZXIpID0+XG4gICAgYWxsLm1hcCgoaXRlbSkgPT4ge1xuICAgICAgY29uc3Qgc2VjdGlvbiA9IHRleHRzLmZpbmQoKHsgdGV4dCB9KSA9PiB0ZXh0ID09PSBpdGVtLnRleHQpO1xuICAgICAgaWYgKHNlY3Rpb24gPT09IHVuZGVmaW5lZCB8fCBzZWN0aW9uLmlzT3BlbikgcmV0dXJuIGl0ZW07XG4gICAgICBpZiAoc2VjdGlvbi5mb2xkZXIgPT09IGZvbGRlcikgcmV0dXJuIHsgLi4uaXRlbSwgY29sbGFwc2VkOiBmYWxzZSB9O1xuICAgICAgcmV0dXJuIHsgdGV4dDogaXRlbS50ZXh0LCBsaW5rOiBpdGVtLmxpbmsgfTtcbiAgICB9KTtcbiAgcmV0dXJuIE9iamVjdC5mcm9tRW50cmllcyhbXG4gICAgW2Fib3ZlLCBhcm91bmQodW5kZWZpbmVkKV0sXG4gICAgLi4udGV4dHMuZmlsdGVyKCh7IGlzT3BlbiB9KSA9PiAhaXNPcGVuKS5tYXAoKHsgZm9sZGVyIH0pID0+IFtgJHthYm92ZX0ke2ZvbGRlcn0vYCwgYXJvdW5kKGZvbGRlcildKSxcbiAgXSk7XG59XG5cbi8qKlxuICogVGhlIGVudHJpZXMgb2YgdGhlIHBhY2thZ2UsIGVhY2ggd2l0aCB0aGUgcGFnZSB0aGF0IGxpc3RzIGl0cyBtZW1iZXJzLiBUeXBlRG9jIHdyaXRlcyBhIHBhZ2UgZm9yIGVhY2ggbWVtYmVyOiBzbyBtYW55XG4gKiB0aGF0IHRoZWlyIHNpZGViYXIgaGFzIHRoZSBlbnRyaWVzIG9ubHkuXG4gKlxuICogQHBhcmFtIHtyZWFkb25seSBzdHJpbmdbXX0gW2ZpbGVzXVxuICogQHJldHVybnMge0l0ZW1bXX1cbiAqL1xuZXhwb3J0IGZ1bmN0aW9uIHNpZGViYXJPZkFwaShmaWxlcyA9IHBhZ2VGaWxlcygpKSB7XG4gIHJldHVybiBbeyB0ZXh0OiAnUmVmZXJlbmNlJywgbGluazogJy9yZWZlcmVuY2UvJyB9LCAuLi5hcGlFbnRyaWVzKGZpbGVzKV07XG59XG5cbi8qKiBUaGUgbmFtZSBvZiB0aGUgcGFja2FnZSB3b3VsZCBicmVhayBtb3N0IG9mIHRoZW0gaW50byB0d28gbGluZXMuICovXG5jb25zdCBzaG9ydE5hbWVPZiA9IChlbnRyeSkgPT4gZW50cnkucmVwbGFjZSgvXlteL10rKD89XFwvKS8sICdcdTIwMjYnKTtcblxuZnVuY3Rpb24gYXBpRW50cmllcyhmaWxlcykge1xuICByZXR1cm4gZmlsZXNcbiAgICAuZmlsdGVyKChmaWxlKSA9PiBmaWxlLnN0YXJ0c1dpdGgoYCR7QVBJX0ZPTERFUn0vYCkgJiYgZmlsZSAhPT0gYCR7QVBJX0ZPTERFUn0vUkVBRE1FLm1kYClcbiAgICAuZmlsdGVyKChmaWxlKSA9PiBmaWxlLmVuZHNXaXRoKCcvUkVBRE1FLm1kJykpXG4gICAgLm1hcCgoZmlsZSkgPT4gKHsgdGV4dDogdGl0bGVPZihmaWxlKSwgbGluazogYWRkcmVzc09mKHBsYWNlT2YoZmlsZSkpIH0pKVxuICAgIC5zb3J0KChvbmUsIG90aGVyKSA9PiBieShvbmUudGV4dCwgb3RoZXIudGV4dCkpXG4gICAgLm1hcCgoeyB0ZXh0LCBsaW5rIH0pID0+ICh7IHRleHQ6IHNob3J0TmFtZU9mKHRleHQpLCBsaW5rIH0pKTtcbn1cblxuY29uc3QgaXNJbkxvY2FsZSA9IChwbGFjZSwgbG9jYWxlKSA9PiAocGxhY2Uuc3RhcnRzV2l0aCgnemgvJykgPyBsb2NhbGUgPT09ICd6aCcgOiBsb2NhbGUgPT09ICdlbicpO1xuXG4vKipcbiAqIEFsbCBhZGRyZXNzZXMgaW4gYSBzaWRlYmFyLlxuICpcbiAqIEBwYXJhbSB7cmVhZG9ubHkgSXRlbVtdfSBpdGVtc1xuICogQHJldHVybnMge3N0cmluZ1tdfVxuICovXG5leHBvcnQgZnVuY3Rpb24gbGlua3NPZihpdGVtcykge1xuICByZXR1cm4gaXRlbXMuZmxhdE1hcCgoeyBsaW5rLCBpdGVtczogaW5uZXIgPSBbXSB9KSA9PiBbLi4uKGxpbmsgPyBbbGlua10gOiBbXSksIC4uLmxpbmtzT2YoaW5uZXIpXSk7XG59XG5cbi8qKlxuICogVGhlIHBhZ2VzIHRoYXQgbm8gc2lkZWJhciBzaG93cy5cbiAqXG4gKiBAcGFyYW0ge3JlYWRvbmx5IHN0cmluZ1tdfSBbZmlsZXNdXG4gKiBAcmV0dXJucyB7c3RyaW5nW119XG4gKi9cbmV4cG9ydCBmdW5jdGlvbiBwYWdlc1dpdGhvdXRTaWRlYmFyKGZpbGVzID0gcGFnZUZpbGVzKCkpIHtcbiAgY29uc3Qgc2hvd24gPSBuZXcgU2V0KFxuICAgIGxpbmtzT2YoWy4uLnNpZGViYXJPZignZW4nLCBmaWxlcyksIC4uLnNpZGViYXJPZignemgnLCBmaWxlcyksIC4uLnNpZGViYXJPZkFwaShmaWxlcyldKSxcbiAgKTtcbiAgcmV0dXJuIGZpbGVzLmZpbHRlcigoZmlsZSkgPT4ge1xuICAgIGNvbnN0IHBsYWNlID0gcGxhY2VPZihmaWxlKTtcbiAgICBjb25zdCBpc01lbWJlciA9IGZpbGUuc3RhcnRzV2l0aChgJHtBUElfRk9MREVSfS9gKSAmJiAhZmlsZS5lbmRzV2l0aCgnL1JFQURNRS5tZCcpO1xuICAgIHJldHVybiAhaXNNZW1iZXIgJiYgIUlOX05PX1NFQ1RJT04uaW5jbHVkZXMocGxhY2UucmVwbGFjZSgvXnpoXFwvLywgJycpKSAmJiAhc2hvd24uaGFzKGFkZHJlc3NPZihwbGFjZSkpO1xuICB9KTtcbn1cbiIsICJjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfZGlybmFtZSA9IFwiL3dvcmsvd3QvcGFnZXMvZG9jcy8udml0ZXByZXNzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ZpbGVuYW1lID0gXCIvd29yay93dC9wYWdlcy9kb2NzLy52aXRlcHJlc3MvemgubWpzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ltcG9ydF9tZXRhX3VybCA9IFwiZmlsZTovLy93b3JrL3d0L3BhZ2VzL2RvY3MvLnZpdGVwcmVzcy96aC5tanNcIjsvKiogV2hhdCB0aGUgdGhlbWUgc2F5cyBpbiBDaGluZXNlLiAqL1xuZXhwb3J0IGNvbnN0IHRoZW1lSW5DaGluZXNlID0ge1xuICBvdXRsaW5lOiB7IGxldmVsOiBbMiwgM10sIGxhYmVsOiAnXHU2NzJDXHU5ODc1XHU3NkVFXHU1RjU1JyB9LFxuICBkb2NGb290ZXI6IHsgcHJldjogJ1x1NEUwQVx1NEUwMFx1OTg3NScsIG5leHQ6ICdcdTRFMEJcdTRFMDBcdTk4NzUnIH0sXG4gIGRhcmtNb2RlU3dpdGNoTGFiZWw6ICdcdTRFM0JcdTk4OTgnLFxuICBsaWdodE1vZGVTd2l0Y2hUaXRsZTogJ1x1NTIwN1x1NjM2Mlx1NTIzMFx1NkQ0NVx1ODI3Mlx1NkEyMVx1NUYwRicsXG4gIGRhcmtNb2RlU3dpdGNoVGl0bGU6ICdcdTUyMDdcdTYzNjJcdTUyMzBcdTZERjFcdTgyNzJcdTZBMjFcdTVGMEYnLFxuICBzaWRlYmFyTWVudUxhYmVsOiAnXHU4M0RDXHU1MzU1JyxcbiAgcmV0dXJuVG9Ub3BMYWJlbDogJ1x1NTZERVx1NTIzMFx1OTg3Nlx1OTBFOCcsXG4gIGxhbmdNZW51TGFiZWw6ICdcdTUyMDdcdTYzNjJcdThCRURcdThBMDAnLFxuICBza2lwVG9Db250ZW50TGFiZWw6ICdcdThERjNcdThGNkNcdTUyMzBcdTUxODVcdTVCQjknLFxuICBub3RGb3VuZDoge1xuICAgIHRpdGxlOiAnXHU5ODc1XHU5NzYyXHU2NzJBXHU2MjdFXHU1MjMwJyxcbiAgICBxdW90ZTogJ1x1OEZEOVx1NEUyQVx1NTczMFx1NTc0MFx1NkNBMVx1NjcwOVx1NUJGOVx1NUU5NFx1NzY4NFx1OTg3NVx1OTc2Mlx1MzAwMicsXG4gICAgbGlua0xhYmVsOiAnXHU1MjREXHU1RjgwXHU5OTk2XHU5ODc1JyxcbiAgICBsaW5rVGV4dDogJ1x1OEZENFx1NTZERVx1OTk5Nlx1OTg3NScsXG4gIH0sXG59O1xuXG5leHBvcnQgY29uc3QgYWxlcnRzSW5DaGluZXNlID0ge1xuICBub3RlOiAnXHU4QkY0XHU2NjBFJyxcbiAgdGlwOiAnXHU2M0QwXHU3OTNBJyxcbiAgaW1wb3J0YW50OiAnXHU5MUNEXHU4OTgxJyxcbiAgd2FybmluZzogJ1x1OEI2Nlx1NTQ0QScsXG4gIGNhdXRpb246ICdcdTZDRThcdTYxMEYnLFxufTtcblxuZXhwb3J0IGNvbnN0IHNlYXJjaEluQ2hpbmVzZSA9IHtcbiAgdHJhbnNsYXRpb25zOiB7XG4gICAgYnV0dG9uOiB7IGJ1dHRvblRleHQ6ICdcdTY0MUNcdTdEMjInLCBidXR0b25BcmlhTGFiZWw6ICdcdTY0MUNcdTdEMjJcdTY1ODdcdTY4NjMnIH0sXG4gICAgbW9kYWw6IHtcbiAgICAgIGRpc3BsYXlEZXRhaWxzOiAnXHU2NjNFXHU3OTNBXHU4QkU2XHU3RUM2XHU1MjE3XHU4ODY4JyxcbiAgICAgIHJlc2V0QnV0dG9uVGl0bGU6ICdcdTZFMDVcdTk2NjRcdTY3RTVcdThCRTJcdTY3NjFcdTRFRjYnLFxuICAgICAgYmFja0J1dHRvblRpdGxlOiAnXHU1MTczXHU5NUVEXHU2NDFDXHU3RDIyJyxcbiAgICAgIG5vUmVzdWx0c1RleHQ6ICdcdTZDQTFcdTY3MDlcdTYyN0VcdTUyMzBcdTc2RjhcdTUxNzNcdTdFRDNcdTY3OUMnLFxuICAgICAgZm9vdGVyOiB7XG4gICAgICAgIHNlbGVjdFRleHQ6ICdcdTkwMDlcdTYyRTknLFxuICAgICAgICBzZWxlY3RLZXlBcmlhTGFiZWw6ICdcdTU2REVcdThGNjYnLFxuICAgICAgICBuYXZpZ2F0ZVRleHQ6ICdcdTUyMDdcdTYzNjInLFxuICAgICAgICBuYXZpZ2F0ZVVwS2V5QXJpYUxhYmVsOiAnXHU0RTBBXHU3QkFEXHU1OTM0JyxcbiAgICAgICAgbmF2aWdhdGVEb3duS2V5QXJpYUxhYmVsOiAnXHU0RTBCXHU3QkFEXHU1OTM0JyxcbiAgICAgICAgY2xvc2VUZXh0OiAnXHU1MTczXHU5NUVEJyxcbiAgICAgICAgY2xvc2VLZXlBcmlhTGFiZWw6ICdFc2MnLFxuICAgICAgfSxcbiAgICB9LFxuICB9LFxufTtcbiJdLAogICJtYXBwaW5ncyI6ICI7QUFBb1EsU0FBUyxjQUFjLFdBQVcsZUFBQUEsb0JBQW1CO0FBQ3pULFNBQVMsV0FBQUMsVUFBUyxRQUFBQyxhQUFZO0FBQzlCLFNBQVMsaUJBQUFDLHNCQUFxQjtBQUM5QixTQUFTLG9CQUFvQjs7O0FDQzdCLElBQU0sY0FBYztBQUFBLEVBQ2xCO0FBQUEsSUFDRTtBQUFBLElBQ0E7QUFBQSxFQUNGO0FBQUEsRUFDQTtBQUFBLElBQ0U7QUFBQSxJQUNBO0FBQUEsRUFDRjtBQUFBLEVBQ0EsQ0FBQywwREFBMEQsRUFBRTtBQUFBLEVBQzdELENBQUMsMENBQTBDLEVBQUU7QUFBQTtBQUFBLEVBRTdDLENBQUMsOERBQThELEVBQUU7QUFBQSxFQUNqRSxDQUFDLHFCQUFxQiw2QkFBNkI7QUFBQSxFQUNuRCxDQUFDLDZCQUE2Qiw4Q0FBOEM7QUFDOUU7QUFHTyxTQUFTLG1CQUFtQjtBQUNqQyxTQUFPO0FBQUEsSUFDTCxNQUFNO0FBQUEsSUFDTixTQUFTO0FBQUEsSUFDVCxVQUFVLE1BQU0sSUFBSTtBQUNsQixVQUFJLENBQUMsR0FBRyxTQUFTLHVCQUF1QixFQUFHLFFBQU87QUFDbEQsYUFBTyxZQUFZLE9BQU8sQ0FBQyxNQUFNLENBQUMsT0FBTyxHQUFHLE1BQU07QUFFaEQsWUFBSSxLQUFLLE9BQU8sS0FBSyxJQUFJLEVBQUcsT0FBTSxJQUFJLE1BQU0sK0NBQStDLEtBQUssRUFBRTtBQUNsRyxlQUFPLEtBQUssUUFBUSxPQUFPLEdBQUc7QUFBQSxNQUNoQyxHQUFHLElBQUk7QUFBQSxJQUNUO0FBQUEsRUFDRjtBQUNGOzs7QUMvQkEsU0FBUyxjQUFBQyxhQUFZLFlBQUFDLGlCQUFnQjtBQUNyQyxTQUFTLFNBQVMsUUFBQUMsT0FBTSxhQUFhOzs7QUNKckMsU0FBUyxZQUFZLGNBQWMsYUFBYSxnQkFBZ0I7QUFDaEUsU0FBUyxZQUFZO0FBQ3JCLFNBQVMscUJBQXFCO0FBSGlJLElBQU0sMkNBQTJDO0FBS3pNLElBQU0sT0FBTyxjQUFjLElBQUksSUFBSSxTQUFTLHdDQUFlLENBQUM7QUFHNUQsSUFBTSxhQUFhO0FBRzFCLElBQU0sWUFBWTtBQUFBLEVBQ2hCLENBQUMsMEJBQTBCLG1CQUFtQjtBQUFBLEVBQzlDLENBQUMsb0NBQW9DLGdCQUFnQjtBQUFBLEVBQ3JELENBQUMsNEJBQTRCLHdCQUF3QjtBQUFBLEVBQ3JELENBQUMsdUJBQXVCLG9CQUFvQjtBQUFBLEVBQzVDLENBQUMsc0JBQXNCLDJCQUEyQjtBQUFBLEVBQ2xELENBQUMsa0JBQWtCLGFBQWE7QUFBQSxFQUNoQyxDQUFDLG1CQUFtQixjQUFjO0FBQ3BDO0FBRUEsSUFBTSxlQUFlO0FBRXJCLElBQU0sVUFBVSxDQUFDLFFBQVEsWUFBWSxjQUFjLFNBQVMsR0FBRztBQVF4RCxTQUFTLFFBQVEsTUFBTTtBQUM1QixNQUFJLEtBQUssV0FBVyxrQkFBa0IsS0FBSyxhQUFhLEtBQUssSUFBSSxFQUFHLFFBQU87QUFDM0UsTUFBSSxpQkFBaUIsS0FBSyxJQUFJO0FBQzVCLFdBQU8sS0FBSyxNQUFNLFFBQVEsTUFBTSxFQUFFLFFBQVEscUJBQXFCLFlBQVk7QUFDN0UsUUFBTSxDQUFDLFNBQVMsS0FBSyxJQUFJLFVBQVUsS0FBSyxDQUFDLENBQUNDLFFBQU8sTUFBTUEsU0FBUSxLQUFLLElBQUksQ0FBQyxLQUFLLENBQUM7QUFDL0UsU0FBTyxXQUFXLEtBQUssUUFBUSxTQUFTLEtBQUs7QUFDL0M7QUFHTyxTQUFTLFVBQVUsT0FBTztBQUMvQixTQUFPLElBQUksTUFBTSxRQUFRLG9CQUFvQixJQUFJLEVBQUUsUUFBUSxTQUFTLEVBQUUsQ0FBQztBQUN6RTtBQU9PLFNBQVMsWUFBWTtBQUMxQixTQUFPLGNBQWMsRUFDbEIsT0FBTyxDQUFDLFNBQVMsUUFBUSxJQUFJLE1BQU0sTUFBUyxFQUM1QyxLQUFLO0FBQ1Y7QUFHTyxTQUFTLGtCQUFrQjtBQUNoQyxTQUFPLEtBQUssTUFBTSxFQUFFLE9BQU8sQ0FBQyxTQUFTLGFBQWEsS0FBSyxJQUFJLENBQUM7QUFDOUQ7QUFFQSxTQUFTLGdCQUFnQjtBQUN2QixRQUFNLFdBQVcsWUFBWSxLQUFLLE1BQU0sVUFBVSxDQUFDLEVBQUUsSUFBSSxDQUFDLFNBQVMsWUFBWSxJQUFJLEVBQUU7QUFDckYsU0FBTyxDQUFDLEdBQUcsS0FBSyxNQUFNLEdBQUcsR0FBRyxDQUFDLEdBQUcsU0FBUyxHQUFHLFFBQVEsRUFBRSxRQUFRLENBQUMsV0FBVyxXQUFXLE1BQU0sQ0FBQyxDQUFDO0FBQy9GO0FBRUEsU0FBUyxLQUFLLFFBQVE7QUFDcEIsU0FBTyxZQUFZLEtBQUssTUFBTSxNQUFNLEdBQUcsRUFBRSxlQUFlLEtBQUssQ0FBQyxFQUMzRCxPQUFPLENBQUMsVUFBVSxNQUFNLFlBQVksS0FBSyxNQUFNLFNBQVMsWUFBWSxFQUNwRSxRQUFRLENBQUMsRUFBRSxLQUFLLE1BQU0sQ0FBQyxHQUFHLFdBQVcsR0FBRyxNQUFNLElBQUksSUFBSSxFQUFFLEdBQUcsR0FBRyxLQUFLLEdBQUcsTUFBTSxJQUFJLElBQUksRUFBRSxDQUFDLENBQUM7QUFDN0Y7QUFFQSxTQUFTLFdBQVcsUUFBUTtBQUMxQixNQUFJLENBQUMsU0FBUyxLQUFLLE1BQU0sTUFBTSxDQUFDLEVBQUUsWUFBWSxFQUFHLFFBQU8sQ0FBQztBQUN6RCxTQUFPLFlBQVksS0FBSyxNQUFNLE1BQU0sQ0FBQyxFQUNsQyxPQUFPLENBQUMsU0FBUyxLQUFLLFNBQVMsS0FBSyxDQUFDLEVBQ3JDLElBQUksQ0FBQyxTQUFVLFdBQVcsTUFBTSxPQUFPLEdBQUcsTUFBTSxJQUFJLElBQUksRUFBRztBQUNoRTtBQUdPLFNBQVMsT0FBTyxNQUFNO0FBQzNCLFNBQU8sUUFBUSxJQUFJLE1BQU0sVUFBYSxXQUFXLEtBQUssTUFBTSxJQUFJLENBQUM7QUFDbkU7QUFFTyxTQUFTLFNBQVMsTUFBTTtBQUM3QixTQUFPLGFBQWEsS0FBSyxNQUFNLElBQUksR0FBRyxNQUFNO0FBQzlDO0FBR08sU0FBUyxRQUFRLE1BQU07QUFDNUIsUUFBTSxPQUFPLFNBQVMsSUFBSTtBQUMxQixRQUFNLFFBQ0osS0FBSyxNQUFNLG1EQUFtRCxJQUFJLENBQUMsS0FDbkUsS0FBSyxNQUFNLGlCQUFpQixJQUFJLENBQUM7QUFDbkMsTUFBSSxVQUFVLE9BQVcsT0FBTSxJQUFJLE1BQU0sR0FBRyxJQUFJLHVDQUF1QztBQUN2RixTQUFPLE1BQ0osUUFBUSwwQkFBMEIsSUFBSSxFQUN0QyxRQUFRLFVBQVUsSUFBSSxFQUN0QixRQUFRLFNBQVMsRUFBRTtBQUN4Qjs7O0FEekZBLElBQU0sWUFBWTtBQUdsQixJQUFNLE9BQU8sRUFBRSxhQUFhLEtBQUssbUJBQW1CLE9BQU87QUFVcEQsU0FBUyxPQUFPLE1BQU0sTUFBTUMsV0FBVTtBQUMzQyxNQUFJLG9CQUFvQixLQUFLLElBQUksS0FBSyxLQUFLLFdBQVcsR0FBRyxFQUFHLFFBQU8sRUFBRSxLQUFLO0FBQzFFLFFBQU0sQ0FBQyxFQUFFLE1BQU0sU0FBUyxFQUFFLElBQUksa0JBQWtCLEtBQUssSUFBSTtBQUN6RCxRQUFNLE9BQU8sT0FBTyxNQUFNLFVBQVUsSUFBSSxDQUFDO0FBQ3pDLE1BQUksU0FBUyxPQUFXLFFBQU8sRUFBRSxNQUFNLEtBQUs7QUFDNUMsTUFBSSxLQUFLLElBQUksTUFBTSxPQUFXLFFBQU8sRUFBRSxNQUFNLEtBQUssSUFBSSxFQUFFO0FBQ3hELFFBQU0sU0FBUyxPQUFPLElBQUk7QUFDMUIsTUFBSSxXQUFXLE9BQVcsUUFBTyxFQUFFLE1BQU0sVUFBVSxRQUFRLE1BQU0sQ0FBQyxJQUFJLE9BQU87QUFDN0UsTUFBSSxLQUFLLFdBQVcsT0FBTyxLQUFLLFVBQVUsS0FBSyxJQUFJLEdBQUc7QUFDcEQsVUFBTSxXQUFXLEtBQUssTUFBTSxRQUFRLE1BQU07QUFDMUMsV0FBTyxFQUFFLE1BQU0sSUFBSSxRQUFRLElBQUksU0FBUztBQUFBLEVBQzFDO0FBQ0EsUUFBTSxTQUFTQSxVQUFTLElBQUk7QUFDNUIsU0FBTyxXQUFXLFNBQVksRUFBRSxNQUFNLEtBQUssSUFBSSxFQUFFLE1BQU0sU0FBUyxPQUFPO0FBQ3pFO0FBR0EsU0FBUyxPQUFPLE1BQU0sTUFBTTtBQUMxQixRQUFNLFFBQVEsTUFBTSxLQUFLLE1BQU0sUUFBUSxJQUFJLEdBQUcsSUFBSTtBQUNsRCxRQUFNLGFBQWEsQ0FBQyxPQUFPLE1BQU0sUUFBUSxlQUFlLE9BQU8sQ0FBQztBQUNoRSxTQUFPLFdBQVcsS0FBSyxDQUFDLFNBQVMsQ0FBQyxLQUFLLFdBQVcsSUFBSSxLQUFLQyxZQUFXQyxNQUFLLE1BQU0sSUFBSSxDQUFDLENBQUM7QUFDekY7QUFHQSxTQUFTLE9BQU8sTUFBTTtBQUNwQixNQUFJLENBQUNDLFVBQVNELE1BQUssTUFBTSxJQUFJLENBQUMsRUFBRSxZQUFZLEVBQUcsUUFBTyxPQUFPLElBQUksSUFBSSxPQUFPO0FBQzVFLFFBQU0sU0FBUyxLQUFLLFFBQVEsT0FBTyxFQUFFO0FBQ3JDLE1BQUksT0FBTyxHQUFHLE1BQU0sWUFBWSxFQUFHLFFBQU8sR0FBRyxNQUFNO0FBQ25ELFNBQU8sVUFBVSxFQUFFLEtBQUssQ0FBQyxTQUFTLFFBQVEsSUFBSSxNQUFNLE1BQU07QUFDNUQ7QUFRTyxTQUFTLFVBQVUsSUFBSSxFQUFFLFVBQUFGLFdBQVUsTUFBQUksT0FBTSxRQUFRLFdBQVcsR0FBRztBQUNwRSxLQUFHLEtBQUssTUFBTSxLQUFLLGNBQWMsQ0FBQyxVQUFVO0FBQzFDLFVBQU0sRUFBRSxVQUFVLEtBQUssSUFBSSxNQUFNO0FBQ2pDLFVBQU0sT0FBTyxZQUFZO0FBRXpCLFFBQUksU0FBUyxPQUFXO0FBQ3hCLFVBQU0sT0FBTyxNQUFNLFVBQVUsS0FBSyxNQUFNLEtBQUssTUFBTSxFQUFFLFdBQVcsTUFBTSxHQUFHLENBQUM7QUFDMUUsZUFBVyxFQUFFLFNBQVMsS0FBSyxNQUFNLFFBQVE7QUFDdkMsVUFBSSxDQUFDLFNBQVU7QUFDZixZQUFNLFNBQVMsQ0FBQztBQUNoQixpQkFBVyxTQUFTLFVBQVU7QUFDNUIsWUFBSSxNQUFNLFNBQVMsZ0JBQWdCLE9BQU8sSUFBSSxFQUFHLFFBQU8sS0FBSztBQUM3RCxZQUFJLE1BQU0sU0FBUyxZQUFhO0FBQ2hDLGNBQU0sT0FBTyxNQUFNLFFBQVEsTUFBTTtBQUNqQyxjQUFNLE9BQU8sT0FBTyxNQUFNLE1BQU1KLFNBQVE7QUFDeEMsWUFBSSxLQUFLLEtBQU0sUUFBTyxHQUFHLElBQUksS0FBSyxJQUFJLEVBQUU7QUFDeEMsZUFBTyxLQUFLLEtBQUssU0FBUyxNQUFTO0FBQ25DLFlBQUksS0FBSyxTQUFTLE9BQVcsUUFBTyxLQUFLO0FBQUEsWUFDcEMsT0FBTSxRQUFRLFFBQVEsS0FBSyxJQUFJO0FBQ3BDLFlBQUksS0FBSyxhQUFhLFFBQVc7QUFDL0IsZ0JBQU0sUUFBUSxZQUFZLEVBQUU7QUFFNUIsZ0JBQU0sUUFBUSxRQUFRSSxRQUFPLEtBQUssUUFBUTtBQUMxQyxxQkFBVyxLQUFLLFFBQVE7QUFBQSxRQUMxQjtBQUFBLE1BQ0Y7QUFBQSxJQUNGO0FBQUEsRUFDRixDQUFDO0FBQ0g7QUFFQSxTQUFTLE9BQU8sT0FBTztBQUNyQixRQUFNLE9BQU8sTUFBTSxZQUFZLElBQUksbUJBQW1CO0FBQ3RELFFBQU0sTUFBTTtBQUNaLFFBQU0sUUFBUTtBQUNoQjtBQUdPLFNBQVMsU0FBUyxTQUFTO0FBQ2hDLFNBQU8sUUFDSixLQUFLLEVBQ0wsWUFBWSxFQUNaLFFBQVEsMkJBQTJCLEVBQUUsRUFDckMsV0FBVyxLQUFLLEdBQUc7QUFDeEI7OztBRXJHQSxTQUFTLGdCQUFBQyxxQkFBb0I7QUFDN0IsU0FBUyxRQUFBQyxhQUFZO0FBSXJCLElBQU0sU0FBUztBQVFSLFNBQVMsV0FBVyxVQUFVLE1BQU0sQ0FBQyxHQUFHO0FBQzdDLFFBQU1DLGNBQWEsSUFBSSxpQkFBaUIsS0FBSyxhQUFhLFNBQVMsVUFBVTtBQUM3RSxTQUFPO0FBQUEsSUFDTCxTQUFTLFNBQVM7QUFBQSxJQUNsQixNQUFNLE9BQU8sSUFBSSxXQUFXLEtBQUssT0FBTyxTQUFTLFFBQVEsQ0FBQztBQUFBLElBQzFELEdBQUlBLGVBQWMsRUFBRSxZQUFBQSxhQUFZLGFBQWEsR0FBR0EsV0FBVSxTQUFTLE1BQU0sU0FBUztBQUFBLElBQ2xGLFVBQVUsQ0FBQyxTQUFTQSxlQUFjLEdBQUdBLFdBQVUsU0FBUyxNQUFNLElBQUksS0FBSyxRQUFRLE9BQU8sRUFBRSxDQUFDO0FBQUEsRUFDM0Y7QUFDRjtBQUdBLFNBQVMsYUFBYUEsYUFBWTtBQUNoQyxRQUFNLE1BQU0sT0FBT0EsZ0JBQWUsV0FBV0EsY0FBYUEsYUFBWTtBQUN0RSxNQUFJLENBQUMsSUFBSyxRQUFPO0FBQ2pCLFFBQU0sUUFBUSxzREFBc0QsS0FBSyxHQUFHO0FBQzVFLE1BQUksT0FBTztBQUNULFVBQU0sQ0FBQyxFQUFFLE9BQU8sVUFBVSxJQUFJLElBQUk7QUFDbEMsV0FBTyxXQUFXLElBQUksSUFBSSxTQUFTLGNBQWMsUUFBUSxLQUFLLElBQUksSUFBSTtBQUFBLEVBQ3hFO0FBQ0EsU0FBTyxJQUNKLFFBQVEsVUFBVSxFQUFFLEVBQ3BCLFFBQVEsOEJBQThCLFVBQVUsRUFDaEQsUUFBUSxrQkFBa0IsYUFBYSxFQUN2QyxRQUFRLFVBQVUsRUFBRSxFQUNwQixRQUFRLE9BQU8sRUFBRTtBQUN0QjtBQUdBLFNBQVMsT0FBTyxVQUFVO0FBQ3hCLE1BQUksQ0FBQyxZQUFZLFNBQVMsU0FBUyxHQUFHLEVBQUcsUUFBTztBQUNoRCxTQUFPLElBQUksSUFBSSxRQUFRLEVBQUU7QUFDM0I7QUFFQSxJQUFNLFNBQVMsQ0FBQyxTQUFTLElBQUksS0FBSyxRQUFRLFlBQVksRUFBRSxDQUFDLElBQUksUUFBUSxNQUFNLEdBQUc7QUFFdkUsSUFBTSxlQUFlLE1BQU0sS0FBSyxNQUFNQyxjQUFhQyxNQUFLLE1BQU0sY0FBYyxHQUFHLE1BQU0sQ0FBQzs7O0FDaEQ3RixTQUFTLHdCQUF3QjtBQUdqQyxJQUFNLGNBQWM7QUFHYixTQUFTLFVBQVUsSUFBSTtBQUM1QixRQUFNLEVBQUUsS0FBSyxJQUFJLEdBQUcsU0FBUztBQUM3QixLQUFHLFNBQVMsTUFBTSxPQUFPLElBQUksU0FBUyxLQUFLLEdBQUcsSUFBSSxFQUFFLFdBQVcsTUFBTSxjQUFjO0FBQ25GLEtBQUcsS0FBSyxNQUFNLEtBQUssY0FBYyxDQUFDLFVBQVU7QUFDMUMsZUFBVyxFQUFFLFNBQVMsS0FBSyxNQUFNLFFBQVE7QUFDdkMsaUJBQVcsU0FBUyxZQUFZLENBQUMsR0FBRztBQUNsQyxZQUFJLE1BQU0sU0FBUyxpQkFBaUIsTUFBTSxRQUFRLFdBQVcsTUFBTSxFQUFHO0FBQ3RFLFlBQUksQ0FBQyxZQUFZLEtBQUssTUFBTSxPQUFPLEVBQUcsT0FBTSxPQUFPO0FBQUEsTUFDckQ7QUFBQSxJQUNGO0FBQUEsRUFDRixDQUFDO0FBQ0g7QUFHTyxTQUFTLGFBQWEsSUFBSTtBQUMvQixLQUFHLEtBQUssTUFBTSxLQUFLLGlCQUFpQixDQUFDLEVBQUUsT0FBTyxNQUFNO0FBQ2xELFdBQU8sUUFBUSxDQUFDLE9BQU8sVUFBVTtBQUMvQixVQUFJLE1BQU0sU0FBUyxhQUFhLE9BQU8sUUFBUSxDQUFDLEVBQUUsWUFBWSxHQUFJO0FBQ2xFLFlBQU0sTUFBTSxPQUFPLFFBQVEsQ0FBQyxFQUFFLE1BQU07QUFBQSxJQUN0QyxDQUFDO0FBQUEsRUFDSCxDQUFDO0FBQ0g7QUFHTyxTQUFTLFlBQVksSUFBSSxRQUFRO0FBQ3RDLEtBQUcsS0FBSyxNQUFNLEtBQUssZ0JBQWdCLENBQUMsRUFBRSxRQUFRLElBQUksTUFBTTtBQUN0RCxVQUFNLE1BQU0sT0FBTyxJQUFJLFdBQVcsS0FBSyxDQUFDO0FBQ3hDLGVBQVcsRUFBRSxNQUFNLEtBQUssS0FBSyxRQUFRO0FBQ25DLFVBQUksU0FBUyxvQkFBcUIsTUFBSyxRQUFRLElBQUksS0FBSyxJQUFJLEtBQUssS0FBSztBQUFBLElBQ3hFO0FBQUEsRUFDRixDQUFDO0FBQ0g7QUFNTyxTQUFTLFNBQVMsSUFBSTtBQUMzQixRQUFNLEVBQUUsTUFBTSxJQUFJLEdBQUcsU0FBUztBQUM5QixNQUFJLFFBQVE7QUFDWixLQUFHLFNBQVMsTUFBTSxRQUFRLElBQUksU0FBUztBQUNyQyxVQUFNLENBQUMsUUFBUSxLQUFLLElBQUk7QUFDeEIsVUFBTSxFQUFFLE1BQU0sUUFBUSxJQUFJLE9BQU8sS0FBSztBQUN0QyxRQUFJLEtBQUssS0FBSyxNQUFNLFVBQVcsUUFBTyxNQUFNLEdBQUcsSUFBSTtBQUNuRCxhQUFTO0FBQ1QsV0FBTyxNQUFNLFNBQVMsV0FBVyxLQUFLLEVBQUU7QUFBQSxFQUMxQztBQUNGO0FBRUEsU0FBUyxNQUFNLFFBQVEsSUFBSTtBQUN6QixRQUFNLFFBQVEsMkJBQTJCLEtBQUssTUFBTSxJQUFJLENBQUM7QUFDekQsTUFBSSxVQUFVLE9BQVcsT0FBTSxJQUFJLE1BQU07QUFBQSxFQUF5QyxNQUFNLEVBQUU7QUFDMUYsUUFBTSxVQUFVLEVBQUUsSUFBSSxrQkFBa0IsSUFBSSxzQkFBc0IsYUFBYSxLQUFLO0FBQ3BGLFFBQU0sTUFBTSxpQkFBaUIsT0FBTyxRQUFRLHNCQUFzQixFQUFFLEdBQUcsT0FBTyxFQUUzRSxRQUFRLDBCQUEwQixFQUFFLEVBQ3BDLFFBQVEsc0JBQXNCLEVBQUUsRUFFaEMsUUFBUSxrQkFBa0IsUUFBUSxFQUFFLE1BQU0sRUFDMUMsUUFBUSxvQkFBb0IsUUFBUSxFQUFFLE1BQU0sRUFDNUMsUUFBUSxTQUFTLCtCQUErQixRQUFRLEtBQUssQ0FBQyxJQUFJO0FBRXJFLFNBQU8sMkNBQTJDLEdBQUc7QUFBQTtBQUN2RDtBQUVBLElBQU0sVUFBVSxDQUFDLFNBQVMsS0FBSyxXQUFXLEtBQUssT0FBTyxFQUFFLFdBQVcsS0FBSyxRQUFRLEVBQUUsV0FBVyxLQUFLLE1BQU07OztBQ3ZFakcsSUFBTSxhQUFhO0FBQUEsRUFDeEIsU0FBUztBQUFBO0FBQUEsSUFFUCxVQUFVLENBQUMsU0FDVCxLQUNHLE1BQU0sZ0VBQWdFLEVBQ3RFLE9BQU8sQ0FBQyxTQUFTLFNBQVMsRUFBRTtBQUFBLEVBQ25DO0FBQUEsRUFDQSxlQUFlO0FBQUE7QUFBQSxJQUViLGFBQWE7QUFBQTtBQUFBLElBRWIsT0FBTztBQUFBO0FBQUEsSUFFUCxlQUFlLENBQUMsT0FDZCxxQkFBcUIsS0FBSyxFQUFFLElBQUksTUFBTSx5Q0FBeUMsS0FBSyxFQUFFLElBQUksTUFBTTtBQUFBLEVBQ3BHO0FBQ0Y7OztBQ01BLElBQU0sV0FBVztBQUFBLEVBQ2Y7QUFBQSxJQUNFLE1BQU0sRUFBRSxJQUFJLGdCQUFnQixJQUFJLGVBQUs7QUFBQSxJQUNyQyxRQUFRO0FBQUEsSUFDUixPQUFPLENBQUMsT0FBTyxlQUFlLG9CQUFvQixhQUFhO0FBQUEsSUFDL0QsUUFBUTtBQUFBLEVBQ1Y7QUFBQSxFQUNBO0FBQUEsSUFDRSxNQUFNLEVBQUUsSUFBSSxVQUFVLElBQUksZUFBSztBQUFBLElBQy9CLFFBQVE7QUFBQSxJQUNSLE9BQU8sQ0FBQztBQUFBLElBQ1IsUUFBUTtBQUFBLE1BQ047QUFBQSxRQUNFLE1BQU0sRUFBRSxJQUFJLGlCQUFpQixJQUFJLDJCQUFPO0FBQUEsUUFDeEMsT0FBTyxDQUFDLGFBQWEsY0FBYyxRQUFRLGNBQWMsYUFBYSxjQUFjO0FBQUEsTUFDdEY7QUFBQSxNQUNBO0FBQUEsUUFDRSxNQUFNLEVBQUUsSUFBSSxZQUFZLElBQUksMkJBQU87QUFBQSxRQUNuQyxPQUFPO0FBQUEsVUFDTDtBQUFBLFVBQ0E7QUFBQSxVQUNBO0FBQUEsVUFDQTtBQUFBLFVBQ0E7QUFBQSxVQUNBO0FBQUEsVUFDQTtBQUFBLFFBQ0Y7QUFBQSxNQUNGO0FBQUEsTUFDQTtBQUFBLFFBQ0UsTUFBTSxFQUFFLElBQUksWUFBWSxJQUFJLGVBQUs7QUFBQSxRQUNqQyxPQUFPO0FBQUEsVUFDTDtBQUFBLFVBQ0E7QUFBQSxVQUNBO0FBQUEsVUFDQTtBQUFBLFVBQ0E7QUFBQSxVQUNBO0FBQUEsVUFDQTtBQUFBLFVBQ0E7QUFBQSxRQUNGO0FBQUEsTUFDRjtBQUFBLE1BQ0E7QUFBQSxRQUNFLE1BQU0sRUFBRSxJQUFJLFNBQVMsSUFBSSxlQUFLO0FBQUEsUUFDOUIsT0FBTyxDQUFDLFdBQVcsa0JBQWtCO0FBQUEsTUFDdkM7QUFBQSxJQUNGO0FBQUEsRUFDRjtBQUFBLEVBQ0E7QUFBQSxJQUNFLE1BQU0sRUFBRSxJQUFJLFlBQVksSUFBSSxlQUFLO0FBQUEsSUFDakMsUUFBUTtBQUFBLElBQ1IsT0FBTyxDQUFDLFlBQVk7QUFBQSxFQUN0QjtBQUFBLEVBQ0E7QUFBQSxJQUNFLE1BQU0sRUFBRSxJQUFJLGNBQWMsSUFBSSxlQUFLO0FBQUEsSUFDbkMsUUFBUTtBQUFBLElBQ1IsT0FBTyxDQUFDLGNBQWMsY0FBYyxRQUFRLFdBQVcsV0FBVyxpQkFBaUI7QUFBQSxFQUNyRjtBQUFBLEVBQ0E7QUFBQSxJQUNFLE1BQU0sRUFBRSxJQUFJLFVBQVUsSUFBSSxxQkFBTTtBQUFBLElBQ2hDLFFBQVE7QUFBQSxJQUNSLE9BQU8sQ0FBQztBQUFBLEVBQ1Y7QUFBQSxFQUNBO0FBQUEsSUFDRSxNQUFNLEVBQUUsSUFBSSxVQUFVLElBQUksZUFBSztBQUFBLElBQy9CLFFBQVE7QUFBQSxJQUNSLE9BQU87QUFBQSxNQUNMO0FBQUEsTUFDQTtBQUFBLE1BQ0E7QUFBQSxNQUNBO0FBQUEsTUFDQTtBQUFBLE1BQ0E7QUFBQSxNQUNBO0FBQUEsSUFDRjtBQUFBLEVBQ0Y7QUFBQSxFQUNBO0FBQUEsSUFDRSxNQUFNLEVBQUUsSUFBSSxzQkFBaUIsSUFBSSx1Q0FBUztBQUFBLElBQzFDLFFBQVE7QUFBQSxJQUNSLE9BQU8sQ0FBQyxZQUFZLFFBQVEsZ0JBQWdCO0FBQUEsRUFDOUM7QUFBQSxFQUNBO0FBQUEsSUFDRSxNQUFNLEVBQUUsSUFBSSxhQUFhLElBQUksZUFBSztBQUFBLElBQ2xDLFFBQVE7QUFBQSxJQUNSLE9BQU8sQ0FBQyxhQUFhLGNBQWM7QUFBQSxJQUNuQyxNQUFNLENBQUMsd0JBQXdCO0FBQUEsRUFDakM7QUFBQSxFQUNBO0FBQUEsSUFDRSxNQUFNLEVBQUUsSUFBSSxhQUFhLElBQUksMkJBQU87QUFBQSxJQUNwQyxRQUFRO0FBQUEsSUFDUixPQUFPLENBQUMsZ0JBQWdCLGtCQUFrQixTQUFTLFNBQVMsY0FBYztBQUFBLEVBQzVFO0FBQ0Y7QUFHQSxJQUFNLFFBQVEsRUFBRSx1QkFBdUIsRUFBRSxJQUFJLGFBQWEsSUFBSSwyQkFBTyxFQUFFO0FBQ3ZFLElBQU0sV0FBVyxFQUFFLElBQUksWUFBWSxJQUFJLGVBQUs7QUFHNUMsSUFBTSxPQUFPLENBQUMsZ0JBQWdCLGdCQUFnQixhQUFhO0FBSTNELElBQU0sWUFBWSxRQUFRLEdBQUcsVUFBVSxZQUFZLEVBQUUsUUFBUSxnQkFBZ0IsRUFBRTtBQUUvRSxJQUFNLEtBQUssQ0FBQyxLQUFLLFVBQVUsSUFBSSxjQUFjLE9BQU8sTUFBTSxFQUFFLFNBQVMsS0FBSyxDQUFDO0FBQzNFLElBQU0sU0FBUyxDQUFDLFVBQVUsTUFBTSxRQUFRLGdCQUFnQixFQUFFO0FBQzFELElBQU0sT0FBTyxDQUFDLFFBQVEsVUFDcEIsTUFBTSxXQUFXLEdBQUcsTUFBTSxHQUFHLEtBQUssQ0FBQyxNQUFNLE1BQU0sT0FBTyxTQUFTLENBQUMsRUFBRSxTQUFTLEdBQUc7QUFTekUsU0FBUyxVQUFVLFFBQVFDLFNBQVEsVUFBVSxHQUFHO0FBQ3JELFFBQU0sU0FBUyxXQUFXLE9BQU8sS0FBSyxHQUFHLE1BQU07QUFDL0MsUUFBTSxTQUFTLElBQUk7QUFBQSxJQUNqQkEsT0FDRyxJQUFJLENBQUMsU0FBUyxDQUFDLFFBQVEsSUFBSSxHQUFHLElBQUksQ0FBQyxFQUNuQyxPQUFPLENBQUMsQ0FBQyxLQUFLLE1BQU0sTUFBTSxXQUFXLE1BQU0sS0FBSyxXQUFXLE9BQU8sTUFBTSxDQUFDLEVBQ3pFLElBQUksQ0FBQyxDQUFDLE9BQU8sSUFBSSxNQUFNLENBQUMsT0FBTyxNQUFNLFFBQVEsSUFBSSxDQUFDLENBQUM7QUFBQSxFQUN4RDtBQUNBLFFBQU0sT0FBTyxDQUFDLFdBQVcsRUFBRSxNQUFNLE9BQU8sSUFBSSxLQUFLLEVBQUUsR0FBRyxNQUFNLFVBQVUsS0FBSyxFQUFFO0FBQzdFLFFBQU0sVUFBVSxDQUFDQyxTQUFRLFVBQVU7QUFDakMsVUFBTSxPQUFPLENBQUMsVUFBVyxNQUFNLFNBQVMsT0FBTyxLQUFLLENBQUMsSUFBSSxNQUFNLFFBQVEsT0FBTyxLQUFLLENBQUMsSUFBSSxNQUFNO0FBRTlGLFVBQU0sYUFBYSxDQUFDLFVBQVUsZUFBZSxLQUFLLEtBQUs7QUFDdkQsV0FBTyxDQUFDLEdBQUdBLE9BQU0sRUFBRTtBQUFBLE1BQ2pCLENBQUMsS0FBSyxVQUNKLEtBQUssR0FBRyxJQUFJLEtBQUssS0FBSyxNQUNyQixXQUFXLEdBQUcsSUFBSSxHQUFHLEtBQUssS0FBSyxJQUFJLEdBQUcsT0FBTyxJQUFJLEdBQUcsRUFBRSxHQUFHLE9BQU8sSUFBSSxLQUFLLEVBQUUsQ0FBQztBQUFBLElBQ2pGO0FBQUEsRUFDRjtBQUVBLFdBQVMsUUFBUSxFQUFFLE1BQU0sUUFBUSxRQUFRLENBQUMsR0FBRyxTQUFTLENBQUMsR0FBRyxPQUFPLENBQUMsR0FBRyxPQUFPLEdBQUc7QUFDN0UsVUFBTSxNQUFNLENBQUMsR0FBRyxPQUFPLEtBQUssQ0FBQyxFQUFFLE9BQU8sQ0FBQyxVQUFVLEtBQUssU0FBUyxRQUFRLEtBQUssQ0FBQztBQUM3RSxVQUFNLFVBQVUsQ0FBQyxVQUFVLE1BQU0sU0FBUyxXQUFXO0FBQ3JELFVBQU0sVUFBVSxPQUFPLElBQUksQ0FBQyxXQUFXO0FBQUEsTUFDckMsTUFBTSxNQUFNLEtBQUssTUFBTTtBQUFBLE1BQ3ZCLE9BQU87QUFBQSxRQUNMLElBQUksT0FBTyxDQUFDLFVBQVUsTUFBTSxNQUFNLFNBQVMsT0FBTyxLQUFLLENBQUMsQ0FBQztBQUFBLFFBQ3pELE1BQU07QUFBQSxNQUNSLEVBQUUsSUFBSSxJQUFJO0FBQUEsSUFDWixFQUFFO0FBQ0YsVUFBTSxZQUFZLENBQUMsVUFBVSxPQUFPLEtBQUssQ0FBQyxVQUFVLE1BQU0sTUFBTSxTQUFTLE9BQU8sS0FBSyxDQUFDLENBQUM7QUFDdkYsVUFBTSxPQUFPO0FBQUEsTUFDWCxJQUFJLE9BQU8sQ0FBQyxVQUFVLENBQUMsUUFBUSxLQUFLLEtBQUssQ0FBQyxVQUFVLEtBQUssQ0FBQztBQUFBLE1BQzFEO0FBQUEsSUFDRjtBQUNBLFVBQU0sUUFBUTtBQUFBLE1BQ1osR0FBRyxJQUFJLE9BQU8sT0FBTyxFQUFFLElBQUksQ0FBQyxXQUFXLEVBQUUsR0FBRyxLQUFLLEtBQUssR0FBRyxNQUFNLFNBQVMsTUFBTSxFQUFFLEVBQUU7QUFBQSxNQUNsRixHQUFHLFFBQVEsT0FBTyxDQUFDLEVBQUUsT0FBQUMsT0FBTSxNQUFNQSxPQUFNLFNBQVMsQ0FBQztBQUFBLE1BQ2pELEdBQUcsS0FBSyxJQUFJLElBQUk7QUFBQSxNQUNoQixHQUFHLEtBQ0EsSUFBSSxDQUFDLFVBQVUsU0FBUyxLQUFLLEVBQzdCLE9BQU8sQ0FBQyxVQUFVLE9BQU8sSUFBSSxLQUFLLENBQUMsRUFDbkMsSUFBSSxJQUFJO0FBQUEsTUFDWCxHQUFHLFVBQVUsTUFBTSxFQUNoQixJQUFJLENBQUMsVUFBVSxRQUFRLEVBQUUsTUFBTSxNQUFNLEtBQUssS0FBSyxPQUFPLEtBQUssR0FBRyxRQUFRLE1BQU0sQ0FBQyxDQUFDLEVBQzlFLE9BQU8sQ0FBQyxVQUFVLFVBQVUsTUFBUztBQUFBLElBQzFDO0FBQ0EsUUFBSSxNQUFNLFdBQVcsRUFBRyxRQUFPO0FBQy9CLFVBQU0sUUFBUSxNQUFNLENBQUMsRUFBRSxRQUFRLE1BQU0sQ0FBQyxFQUFFLE1BQU0sQ0FBQyxFQUFFO0FBQ2pELFFBQUksV0FBVyxlQUFlLFdBQVcsS0FBTSxPQUFNLEtBQUssR0FBRyxXQUFXRixNQUFLLENBQUM7QUFFOUUsV0FBTyxFQUFFLE1BQU0sS0FBSyxNQUFNLEdBQUcsTUFBTSxPQUFPLFdBQVcsV0FBVyxNQUFNLE1BQU07QUFBQSxFQUM5RTtBQUVBLFdBQVMsVUFBVSxRQUFRO0FBQ3pCLFVBQU0sUUFBUSxHQUFHLE1BQU0sR0FBRyxNQUFNO0FBQ2hDLFVBQU0sUUFBUSxDQUFDLEdBQUcsT0FBTyxLQUFLLENBQUMsRUFDNUIsT0FBTyxDQUFDLFVBQVUsTUFBTSxXQUFXLEtBQUssS0FBSyxNQUFNLE1BQU0sTUFBTSxNQUFNLEVBQUUsU0FBUyxHQUFHLENBQUMsRUFDcEYsSUFBSSxDQUFDLFVBQVUsR0FBRyxNQUFNLElBQUksTUFBTSxNQUFNLE1BQU0sTUFBTSxFQUFFLE1BQU0sR0FBRyxFQUFFLENBQUMsQ0FBQyxFQUFFO0FBQ3hFLFdBQU8sQ0FBQyxHQUFHLElBQUksSUFBSSxLQUFLLENBQUMsRUFBRSxPQUFPLENBQUMsU0FBUyxTQUFTLFNBQVMsRUFBRSxLQUFLO0FBQUEsRUFDdkU7QUFHQSxXQUFTLE9BQU8sUUFBUTtBQUN0QixVQUFNLFFBQVEsR0FBRyxNQUFNLEdBQUcsTUFBTTtBQUNoQyxXQUFPLEVBQUUsQ0FBQyxNQUFNLEdBQUcsT0FBTyxJQUFJLEtBQUssSUFBSSxPQUFPLElBQUksS0FBSyxFQUFFLElBQUksT0FBTyxRQUFRLFNBQVMsRUFBRSxFQUFFO0FBQUEsRUFDM0Y7QUFFQSxRQUFNLE9BQU8sS0FBSyxJQUFJLENBQUMsVUFBVSxTQUFTLEtBQUssRUFBRSxPQUFPLENBQUMsVUFBVSxPQUFPLElBQUksS0FBSyxDQUFDO0FBQ3BGLFNBQU8sQ0FBQyxHQUFHLFNBQVMsSUFBSSxPQUFPLEVBQUUsT0FBTyxDQUFDLFVBQVUsVUFBVSxNQUFTLEdBQUcsR0FBRyxLQUFLLElBQUksSUFBSSxDQUFDO0FBQzVGO0FBVU8sU0FBUyxXQUFXLFFBQVFBLFNBQVEsVUFBVSxHQUFHO0FBQ3RELFFBQU0sUUFBUSxXQUFXLE9BQU8sTUFBTSxJQUFJLE1BQU07QUFDaEQsUUFBTSxNQUFNLFVBQVUsUUFBUUEsTUFBSztBQUNuQyxRQUFNLFFBQVEsU0FBUyxJQUFJLENBQUMsRUFBRSxNQUFNLFFBQVEsT0FBTyxPQUFPLEVBQUUsTUFBTSxLQUFLLE1BQU0sR0FBRyxRQUFRLE9BQU8sRUFBRTtBQUNqRyxRQUFNLFNBQVMsQ0FBQyxXQUNkLElBQUksSUFBSSxDQUFDLFNBQVM7QUFDaEIsVUFBTSxVQUFVLE1BQU0sS0FBSyxDQUFDLEVBQUUsS0FBSyxNQUFNLFNBQVMsS0FBSyxJQUFJO0FBQzNELFFBQUksWUFBWSxVQUFhLFFBQVEsT0FBUSxRQUFPO0FBQ3BELFFBQUksUUFBUSxXQUFXLE9BQVEsUUFBTyxFQUFFLEdBQUcsTUFBTSxXQUFXLE1BQU07QUFDbEUsV0FBTyxFQUFFLE1BQU0sS0FBSyxNQUFNLE1BQU0sS0FBSyxLQUFLO0FBQUEsRUFDNUMsQ0FBQztBQUNILFNBQU8sT0FBTyxZQUFZO0FBQUEsSUFDeEIsQ0FBQyxPQUFPLE9BQU8sTUFBUyxDQUFDO0FBQUEsSUFDekIsR0FBRyxNQUFNLE9BQU8sQ0FBQyxFQUFFLE9BQU8sTUFBTSxDQUFDLE1BQU0sRUFBRSxJQUFJLENBQUMsRUFBRSxPQUFPLE1BQU0sQ0FBQyxHQUFHLEtBQUssR0FBRyxNQUFNLEtBQUssT0FBTyxNQUFNLENBQUMsQ0FBQztBQUFBLEVBQ3JHLENBQUM7QUFDSDtBQVNPLFNBQVMsYUFBYUEsU0FBUSxVQUFVLEdBQUc7QUFDaEQsU0FBTyxDQUFDLEVBQUUsTUFBTSxhQUFhLE1BQU0sY0FBYyxHQUFHLEdBQUcsV0FBV0EsTUFBSyxDQUFDO0FBQzFFO0FBR0EsSUFBTSxjQUFjLENBQUMsVUFBVSxNQUFNLFFBQVEsZ0JBQWdCLFFBQUc7QUFFaEUsU0FBUyxXQUFXQSxRQUFPO0FBQ3pCLFNBQU9BLE9BQ0osT0FBTyxDQUFDLFNBQVMsS0FBSyxXQUFXLEdBQUcsVUFBVSxHQUFHLEtBQUssU0FBUyxHQUFHLFVBQVUsWUFBWSxFQUN4RixPQUFPLENBQUMsU0FBUyxLQUFLLFNBQVMsWUFBWSxDQUFDLEVBQzVDLElBQUksQ0FBQyxVQUFVLEVBQUUsTUFBTSxRQUFRLElBQUksR0FBRyxNQUFNLFVBQVUsUUFBUSxJQUFJLENBQUMsRUFBRSxFQUFFLEVBQ3ZFLEtBQUssQ0FBQyxLQUFLLFVBQVUsR0FBRyxJQUFJLE1BQU0sTUFBTSxJQUFJLENBQUMsRUFDN0MsSUFBSSxDQUFDLEVBQUUsTUFBTSxLQUFLLE9BQU8sRUFBRSxNQUFNLFlBQVksSUFBSSxHQUFHLEtBQUssRUFBRTtBQUNoRTtBQUVBLElBQU0sYUFBYSxDQUFDLE9BQU8sV0FBWSxNQUFNLFdBQVcsS0FBSyxJQUFJLFdBQVcsT0FBTyxXQUFXOzs7QUNuUXZGLElBQU0saUJBQWlCO0FBQUEsRUFDNUIsU0FBUyxFQUFFLE9BQU8sQ0FBQyxHQUFHLENBQUMsR0FBRyxPQUFPLDJCQUFPO0FBQUEsRUFDeEMsV0FBVyxFQUFFLE1BQU0sc0JBQU8sTUFBTSxxQkFBTTtBQUFBLEVBQ3RDLHFCQUFxQjtBQUFBLEVBQ3JCLHNCQUFzQjtBQUFBLEVBQ3RCLHFCQUFxQjtBQUFBLEVBQ3JCLGtCQUFrQjtBQUFBLEVBQ2xCLGtCQUFrQjtBQUFBLEVBQ2xCLGVBQWU7QUFBQSxFQUNmLG9CQUFvQjtBQUFBLEVBQ3BCLFVBQVU7QUFBQSxJQUNSLE9BQU87QUFBQSxJQUNQLE9BQU87QUFBQSxJQUNQLFdBQVc7QUFBQSxJQUNYLFVBQVU7QUFBQSxFQUNaO0FBQ0Y7QUFFTyxJQUFNLGtCQUFrQjtBQUFBLEVBQzdCLE1BQU07QUFBQSxFQUNOLEtBQUs7QUFBQSxFQUNMLFdBQVc7QUFBQSxFQUNYLFNBQVM7QUFBQSxFQUNULFNBQVM7QUFDWDtBQUVPLElBQU0sa0JBQWtCO0FBQUEsRUFDN0IsY0FBYztBQUFBLElBQ1osUUFBUSxFQUFFLFlBQVksZ0JBQU0saUJBQWlCLDJCQUFPO0FBQUEsSUFDcEQsT0FBTztBQUFBLE1BQ0wsZ0JBQWdCO0FBQUEsTUFDaEIsa0JBQWtCO0FBQUEsTUFDbEIsaUJBQWlCO0FBQUEsTUFDakIsZUFBZTtBQUFBLE1BQ2YsUUFBUTtBQUFBLFFBQ04sWUFBWTtBQUFBLFFBQ1osb0JBQW9CO0FBQUEsUUFDcEIsY0FBYztBQUFBLFFBQ2Qsd0JBQXdCO0FBQUEsUUFDeEIsMEJBQTBCO0FBQUEsUUFDMUIsV0FBVztBQUFBLFFBQ1gsbUJBQW1CO0FBQUEsTUFDckI7QUFBQSxJQUNGO0FBQUEsRUFDRjtBQUNGOzs7QVI5Q2dLLElBQU1HLDRDQUEyQztBQWFqTixJQUFNLFFBQVE7QUFDZCxJQUFNLGNBQWM7QUFFcEIsSUFBTSxFQUFFLFNBQVMsTUFBTSxZQUFZLFVBQVUsWUFBWSxJQUFJLFdBQVcsYUFBYSxHQUFHLFFBQVEsR0FBRztBQUNuRyxJQUFNLFFBQVEsVUFBVTtBQUN4QixJQUFNLFNBQVMsSUFBSSxJQUFJLE1BQU0sSUFBSSxPQUFPLENBQUM7QUFDekMsSUFBTSxhQUFhLENBQUMsR0FBRyxNQUFNLEVBQUUsS0FBSyxDQUFDLFVBQVUsTUFBTSxXQUFXLEtBQUssQ0FBQztBQUd0RSxJQUFNLE9BQU8sb0JBQUksSUFBSTtBQUNyQixJQUFNLFlBQVksb0JBQUksSUFBSTtBQUcxQixTQUFTLE9BQU8sUUFBUTtBQUN0QixRQUFNLFNBQVMsV0FBVyxPQUFPLEtBQUssR0FBRyxNQUFNO0FBQy9DLFFBQU0sVUFBVTtBQUFBLElBQ2QsQ0FBQyxFQUFFLElBQUksZUFBZSxJQUFJLDJCQUFPLEdBQUcsNkJBQTZCO0FBQUEsSUFDakUsQ0FBQyxFQUFFLElBQUksVUFBVSxJQUFJLGVBQUssR0FBRyxtQkFBbUIsUUFBUTtBQUFBLElBQ3hELENBQUMsRUFBRSxJQUFJLGNBQWMsSUFBSSxlQUFLLEdBQUcsNEJBQTRCLFlBQVk7QUFBQSxJQUN6RSxDQUFDLEVBQUUsSUFBSSxVQUFVLElBQUkscUJBQU0sR0FBRyxtQkFBbUIsUUFBUTtBQUFBLElBQ3pELENBQUMsRUFBRSxJQUFJLGFBQWEsSUFBSSx1Q0FBUyxHQUFHLHNCQUFzQixXQUFXO0FBQUEsRUFDdkU7QUFDQSxTQUFPLFFBQ0osSUFBSSxDQUFDLENBQUMsTUFBTSxPQUFPLE1BQU0sT0FBTztBQUFBLElBQy9CLE1BQU0sS0FBSyxNQUFNO0FBQUEsSUFDakIsT0FBTyxPQUFPLElBQUksU0FBUyxLQUFLLElBQUksU0FBUyxRQUFRO0FBQUEsSUFDckQ7QUFBQSxFQUNGLEVBQUUsRUFDRCxPQUFPLENBQUMsRUFBRSxNQUFNLE1BQU0sT0FBTyxJQUFJLEtBQUssQ0FBQyxFQUN2QyxJQUFJLENBQUMsRUFBRSxNQUFNLE9BQU8sT0FBTyxPQUFPO0FBQUEsSUFDakM7QUFBQSxJQUNBLE1BQU0sVUFBVSxLQUFLO0FBQUEsSUFDckIsR0FBSSxVQUFVLEVBQUUsYUFBYSxJQUFJLFVBQVUsS0FBSyxJQUFJLE1BQU0sSUFBSTtBQUFBLEVBQ2hFLEVBQUU7QUFDTjtBQUdBLElBQU0sY0FBYyxFQUFFLE1BQU0sSUFBSSxPQUFPLElBQUksTUFBTSxhQUFhO0FBRTlELElBQU0sVUFBVTtBQUFBLEVBQ2QsTUFBTSxFQUFFLE9BQU8sV0FBVyxNQUFNLFFBQVE7QUFBQSxFQUN4QyxHQUFJLGNBQWM7QUFBQSxJQUNoQixJQUFJO0FBQUEsTUFDRixPQUFPO0FBQUEsTUFDUCxNQUFNO0FBQUEsTUFDTixNQUFNO0FBQUEsTUFDTixhQUFhO0FBQUEsTUFDYixhQUFhO0FBQUEsUUFDWCxHQUFHO0FBQUEsUUFDSCxLQUFLLENBQUMsR0FBRyxPQUFPLElBQUksR0FBRyxXQUFXO0FBQUEsUUFDbEMsR0FBSSxlQUFlLEVBQUUsVUFBVSxFQUFFLFNBQVMsYUFBYSxNQUFNLDJCQUFPLEVBQUU7QUFBQSxNQUN4RTtBQUFBLElBQ0Y7QUFBQSxFQUNGO0FBQ0Y7QUFFQSxJQUFPLGlCQUFRLGFBQWE7QUFBQSxFQUMxQixPQUFPO0FBQUEsRUFDUCxhQUFhO0FBQUEsRUFDYjtBQUFBLEVBQ0E7QUFBQSxFQUNBLFdBQVc7QUFBQTtBQUFBLEVBRVgsUUFBUTtBQUFBLEVBQ1IsWUFBWSxvQkFBb0I7QUFBQSxFQUNoQyxVQUFVLENBQUMsU0FBUyxRQUFRLElBQUksS0FBSztBQUFBO0FBQUEsRUFFckMsaUJBQWlCO0FBQUEsRUFDakIsV0FBVztBQUFBLEVBQ1gsTUFBTSxDQUFDLENBQUMsUUFBUSxFQUFFLEtBQUssUUFBUSxNQUFNLEdBQUcsSUFBSSxlQUFlLE1BQU0sZ0JBQWdCLENBQUMsQ0FBQztBQUFBLEVBQ25GLFVBQVU7QUFBQTtBQUFBLElBRVIsT0FBTyxFQUFFLE9BQU8sOEJBQThCLE1BQU0sNEJBQTRCO0FBQUEsSUFDaEYsUUFBUSxFQUFFLFNBQVMsU0FBUztBQUFBLElBQzVCLFFBQVEsQ0FBQyxPQUFPO0FBQ2QsU0FBRyxJQUFJLFNBQVM7QUFDaEIsU0FBRyxJQUFJLFFBQVE7QUFDZixTQUFHLElBQUksWUFBWTtBQUNuQixTQUFHLElBQUksYUFBYSxFQUFFLElBQUksZ0JBQWdCLENBQUM7QUFDM0MsU0FBRyxJQUFJLFdBQVc7QUFBQSxRQUNoQjtBQUFBLFFBQ0E7QUFBQSxRQUNBLFFBQVEsQ0FBQyxTQUFTO0FBQ2hCLGNBQUksQ0FBQyxLQUFLLElBQUksSUFBSSxFQUFHLFNBQVEsTUFBTSw0QkFBNEIsSUFBSSxFQUFFO0FBQ3JFLGVBQUssSUFBSSxJQUFJO0FBQUEsUUFDZjtBQUFBLFFBQ0EsWUFBWSxDQUFDLFNBQVMsVUFBVSxJQUFJLElBQUk7QUFBQSxNQUMxQyxDQUFDO0FBQUEsSUFDSDtBQUFBLEVBQ0Y7QUFBQSxFQUNBLE1BQU07QUFBQSxJQUNKLFNBQVMsQ0FBQyxpQkFBaUIsQ0FBQztBQUFBLElBQzVCLFdBQVdDLGVBQWMsSUFBSSxJQUFJLFVBQVVELHlDQUFlLENBQUM7QUFBQSxJQUMzRCxTQUFTO0FBQUEsTUFDUCxPQUFPO0FBQUEsUUFDTDtBQUFBO0FBQUEsVUFFRSxNQUFNO0FBQUEsVUFDTixhQUFhQyxlQUFjLElBQUksSUFBSSxzQkFBc0JELHlDQUFlLENBQUM7QUFBQSxRQUMzRTtBQUFBLFFBQ0E7QUFBQTtBQUFBLFVBRUUsTUFBTTtBQUFBLFVBQ04sYUFBYUMsZUFBYyxJQUFJLElBQUksa0JBQWtCRCx5Q0FBZSxDQUFDO0FBQUEsUUFDdkU7QUFBQSxNQUNGO0FBQUEsSUFDRjtBQUFBLElBQ0EsT0FBTyxFQUFFLHVCQUF1QixJQUFNO0FBQUEsRUFDeEM7QUFBQSxFQUNBLGFBQWE7QUFBQSxJQUNYLFNBQVMsRUFBRSxPQUFPLENBQUMsR0FBRyxDQUFDLEVBQUU7QUFBQSxJQUN6QixLQUFLLENBQUMsR0FBRyxPQUFPLElBQUksR0FBRyxXQUFXO0FBQUEsSUFDbEMsU0FBUztBQUFBLE1BQ1AsR0FBRyxXQUFXLE1BQU0sS0FBSztBQUFBLE1BQ3pCLG1CQUFtQixhQUFhLEtBQUs7QUFBQSxNQUNyQyxHQUFJLGNBQWMsV0FBVyxNQUFNLEtBQUs7QUFBQSxJQUMxQztBQUFBLElBQ0EsUUFBUTtBQUFBLE1BQ04sVUFBVTtBQUFBLE1BQ1YsU0FBUztBQUFBLFFBQ1AsU0FBUyxFQUFFLElBQUksZ0JBQWdCO0FBQUEsUUFDL0I7QUFBQTtBQUFBLFFBRUEsU0FBUyxDQUFDLE1BQU0sS0FBSyxPQUFPO0FBQzFCLGdCQUFNLE9BQU8sR0FBRyxPQUFPLE1BQU0sR0FBRztBQUNoQyxpQkFBTyxJQUFJLGFBQWEsU0FBUyxnQkFBZ0IsSUFBSSxLQUFLLFFBQVEsWUFBWSxFQUFFLElBQUk7QUFBQSxRQUN0RjtBQUFBLE1BQ0Y7QUFBQSxJQUNGO0FBQUEsSUFDQSxHQUFJLGVBQWUsRUFBRSxVQUFVLEVBQUUsU0FBUyxZQUFZLEVBQUU7QUFBQSxJQUN4RCxHQUFJLGNBQWM7QUFBQSxNQUNoQixhQUFhLENBQUMsRUFBRSxNQUFNLFdBQVcsU0FBUyxRQUFRLElBQUksV0FBVyxVQUFVLE1BQU0sV0FBVyxDQUFDO0FBQUEsSUFDL0Y7QUFBQTtBQUFBLElBRUEsT0FBTyxhQUFhLENBQUMsR0FBRyxNQUFNLEVBQUUsT0FBTyxDQUFDLFVBQVUsQ0FBQyxNQUFNLFdBQVcsZ0JBQWdCLENBQUMsSUFBSSxDQUFDO0FBQUEsRUFDNUY7QUFBQSxFQUNBLG1CQUFtQixDQUFDLFNBQVM7QUFFM0IsUUFBSSxLQUFLLFNBQVMsV0FBVyxHQUFHLFVBQVUsR0FBRztBQUMzQyxhQUFPLE9BQU8sS0FBSyxhQUFhLEVBQUUsVUFBVSxPQUFPLE1BQU0sT0FBTyxNQUFNLE1BQU0sQ0FBQztBQUFBLEVBQ2pGO0FBQUEsRUFDQSxVQUFVLENBQUMsRUFBRSxPQUFPLE1BQU07QUFDeEIsUUFBSSxLQUFLLE9BQU8sRUFBRyxPQUFNLElBQUksTUFBTSxHQUFHLEtBQUssSUFBSSx5Q0FBeUM7QUFDeEYsZUFBVyxRQUFRLFdBQVc7QUFDNUIsZ0JBQVVFLFNBQVFDLE1BQUssUUFBUSxJQUFJLENBQUMsR0FBRyxFQUFFLFdBQVcsS0FBSyxDQUFDO0FBQzFELG1CQUFhQSxNQUFLLE1BQU0sUUFBUSxJQUFJLEdBQUdBLE1BQUssUUFBUSxJQUFJLENBQUM7QUFBQSxJQUMzRDtBQUFBLEVBQ0Y7QUFDRixDQUFDO0FBR0QsU0FBUyxzQkFBc0I7QUFDN0IsUUFBTSxZQUFZLENBQUMsUUFBUSxZQUFZLGNBQWMsT0FBTztBQUM1RCxRQUFNLFVBQVVDLGFBQVksTUFBTSxFQUFFLGVBQWUsS0FBSyxDQUFDO0FBQ3pELFNBQU87QUFBQSxJQUNMLEdBQUcsUUFDQSxPQUFPLENBQUMsVUFBVSxNQUFNLFlBQVksS0FBSyxDQUFDLFVBQVUsU0FBUyxNQUFNLElBQUksQ0FBQyxFQUN4RSxJQUFJLENBQUMsRUFBRSxLQUFLLE1BQU0sR0FBRyxJQUFJLEtBQUs7QUFBQSxJQUNqQyxHQUFHLFFBQ0EsT0FBTyxDQUFDLEVBQUUsS0FBSyxNQUFNLEtBQUssU0FBUyxLQUFLLEtBQUssUUFBUSxJQUFJLE1BQU0sTUFBUyxFQUN4RSxJQUFJLENBQUMsRUFBRSxLQUFLLE1BQU0sSUFBSTtBQUFBLElBQ3pCLEdBQUcsZ0JBQWdCO0FBQUEsSUFDbkI7QUFBQSxJQUNBO0FBQUEsSUFDQTtBQUFBLElBQ0E7QUFBQSxFQUNGO0FBQ0Y7IiwKICAibmFtZXMiOiBbInJlYWRkaXJTeW5jIiwgImRpcm5hbWUiLCAiam9pbiIsICJmaWxlVVJMVG9QYXRoIiwgImV4aXN0c1N5bmMiLCAic3RhdFN5bmMiLCAiam9pbiIsICJwYXR0ZXJuIiwgInNvdXJjZU9mIiwgImV4aXN0c1N5bmMiLCAiam9pbiIsICJzdGF0U3luYyIsICJiYXNlIiwgInJlYWRGaWxlU3luYyIsICJqb2luIiwgInJlcG9zaXRvcnkiLCAicmVhZEZpbGVTeW5jIiwgImpvaW4iLCAiZmlsZXMiLCAicGxhY2VzIiwgIml0ZW1zIiwgIl9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9pbXBvcnRfbWV0YV91cmwiLCAiZmlsZVVSTFRvUGF0aCIsICJkaXJuYW1lIiwgImpvaW4iLCAicmVhZGRpclN5bmMiXQp9Cg==
