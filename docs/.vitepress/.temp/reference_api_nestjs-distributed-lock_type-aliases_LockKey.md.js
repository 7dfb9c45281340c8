import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Type Alias: LockKey","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/type-aliases/LockKey.md","filePath":"docs/reference/api/nestjs-distributed-lock/type-aliases/LockKey.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/type-aliases/LockKey.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="type-alias-lockkey" tabindex="-1">Type Alias: LockKey <a class="header-anchor" href="#type-alias-lockkey" aria-label="Permalink to &quot;Type Alias: LockKey&quot;">​</a></h1><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">type</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> LockKey</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;"> =</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> string</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;"> |</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;"> readonly</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> string</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">[];</span></span></code></pre></div><p>The key to lock, or several keys to acquire together, all or none (1 … 1 000). A key is a string of 1 … 1 024 bytes in UTF-8. Several keys are acquired in the order of their UTF-16 code units, so that callers whose keys overlap do not deadlock; a repeated key is acquired once.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/type-aliases/LockKey.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const LockKey = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  LockKey as default
};
