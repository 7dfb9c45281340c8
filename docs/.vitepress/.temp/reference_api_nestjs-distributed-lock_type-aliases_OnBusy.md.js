import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Type Alias: OnBusy<This>","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/type-aliases/OnBusy.md","filePath":"docs/reference/api/nestjs-distributed-lock/type-aliases/OnBusy.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/type-aliases/OnBusy.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="type-alias-onbusythis" tabindex="-1">Type Alias: OnBusy&lt;This&gt; <a class="header-anchor" href="#type-alias-onbusythis" aria-label="Permalink to &quot;Type Alias: OnBusy\\&lt;This\\&gt;&quot;">​</a></h1><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">type</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> OnBusy</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">&lt;</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">This</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">&gt; </span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">=</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> &quot;throw&quot;</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;"> |</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> &quot;skip&quot;</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;"> |</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> ((</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;">this</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">, </span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">...</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">args</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">) </span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">=&gt;</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> unknown</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">) </span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">|</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> undefined</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">;</span></span></code></pre></div><p>The type of <code>onBusy</code>, for custom decorators. <a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/type-aliases/LockedDecorator">LockedDecorator</a> checks that it fits the method.</p><h2 id="type-parameters" tabindex="-1">Type Parameters <a class="header-anchor" href="#type-parameters" aria-label="Permalink to &quot;Type Parameters&quot;">​</a></h2><table tabindex="0"><thead><tr><th>Type Parameter</th></tr></thead><tbody><tr><td><a id="type-parameter-this"></a> <code>This</code> <em>extends</em> <code>object</code></td></tr></tbody></table></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/type-aliases/OnBusy.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const OnBusy = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  OnBusy as default
};
