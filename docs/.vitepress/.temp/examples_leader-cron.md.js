import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"leader-cron","description":"","frontmatter":{},"headers":[],"relativePath":"examples/leader-cron.md","filePath":"examples/leader-cron/README.md"}');
const _sfc_main = { name: "examples/leader-cron.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="leader-cron" tabindex="-1">leader-cron <a class="header-anchor" href="#leader-cron" aria-label="Permalink to &quot;leader-cron&quot;">​</a></h1><p>A cron job that only the leader runs. Guide: <a href="/nestjs-distributed-lock/guides/leader-election">Leader election</a>.</p><div class="language-sh vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">sh</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">npm</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> run</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> example</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> leader-cron</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> 2</span><span style="--shiki-light:#66707B;--shiki-dark:#BDC4CC;">   # stop the process that sends, and the other one takes over</span></span>
<span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">curl</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> localhost:3000/reminders</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> localhost:3001/reminders</span></span></code></pre></div></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("examples/leader-cron/README.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const README = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  README as default
};
