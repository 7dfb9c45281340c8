import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Function: postgresMigration()","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/postgres/functions/postgresMigration.md","filePath":"docs/reference/api/nestjs-distributed-lock/postgres/functions/postgresMigration.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/postgres/functions/postgresMigration.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="function-postgresmigration" tabindex="-1">Function: postgresMigration() <a class="header-anchor" href="#function-postgresmigration" aria-label="Permalink to &quot;Function: postgresMigration()&quot;">​</a></h1><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">function</span><span style="--shiki-light:#622CBC;--shiki-dark:#DBB7FF;"> postgresMigration</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">(</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">options</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">?</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">)</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">:</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> string</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">;</span></span></code></pre></div><p>The SQL that creates the schema for <code>postgresStore</code>, or brings it up to date: one statement. Run it as a migration of your application, with the right to create a schema. You can run it again at any time, even while locks are in use.</p><h2 id="parameters" tabindex="-1">Parameters <a class="header-anchor" href="#parameters" aria-label="Permalink to &quot;Parameters&quot;">​</a></h2><table tabindex="0"><thead><tr><th>Parameter</th><th>Type</th></tr></thead><tbody><tr><td><code>options?</code></td><td><a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/postgres/interfaces/PostgresMigrationOptions"><code>PostgresMigrationOptions</code></a></td></tr></tbody></table><h2 id="returns" tabindex="-1">Returns <a class="header-anchor" href="#returns" aria-label="Permalink to &quot;Returns&quot;">​</a></h2><p><code>string</code></p><h2 id="throws" tabindex="-1">Throws <a class="header-anchor" href="#throws" aria-label="Permalink to &quot;Throws&quot;">​</a></h2><p>LockOptionsError for an unusable schema name</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/postgres/functions/postgresMigration.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const postgresMigration = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  postgresMigration as default
};
