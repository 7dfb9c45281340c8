import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Interface: PostgresMigrationOptions","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/postgres/interfaces/PostgresMigrationOptions.md","filePath":"docs/reference/api/nestjs-distributed-lock/postgres/interfaces/PostgresMigrationOptions.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/postgres/interfaces/PostgresMigrationOptions.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="interface-postgresmigrationoptions" tabindex="-1">Interface: PostgresMigrationOptions <a class="header-anchor" href="#interface-postgresmigrationoptions" aria-label="Permalink to &quot;Interface: PostgresMigrationOptions&quot;">​</a></h1><p>Options of <a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/postgres/functions/postgresMigration">postgresMigration</a>.</p><h2 id="properties" tabindex="-1">Properties <a class="header-anchor" href="#properties" aria-label="Permalink to &quot;Properties&quot;">​</a></h2><h3 id="schema" tabindex="-1">schema? <a class="header-anchor" href="#schema" aria-label="Permalink to &quot;schema?&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly schema</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">?:</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> string;</span></span></code></pre></div><p>The schema for the tables and functions; 1 to 63 bytes. The same as in <code>postgresStore</code>.</p><h4 id="default" tabindex="-1">Default <a class="header-anchor" href="#default" aria-label="Permalink to &quot;Default&quot;">​</a></h4><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;">&#39;distributed_lock&#39;</span></span></code></pre></div></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/postgres/interfaces/PostgresMigrationOptions.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const PostgresMigrationOptions = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  PostgresMigrationOptions as default
};
