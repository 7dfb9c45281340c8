import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"testing","description":"","frontmatter":{},"headers":[],"relativePath":"examples/testing.md","filePath":"examples/testing/README.md"}');
const _sfc_main = { name: "examples/testing.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="testing" tabindex="-1">testing <a class="header-anchor" href="#testing" aria-label="Permalink to &quot;testing&quot;">​</a></h1><p>A small application and its tests, for Jest and Vitest: locks in memory, fake timers, <code>TestLockStore</code> and <code>FakeLockService</code>. Guides: <a href="/nestjs-distributed-lock/guides/testing">Testing</a>, <a href="/nestjs-distributed-lock/guides/testing#timeouts-lost-locks-and-outages">timeouts, lost locks and outages</a>.</p><div class="language-sh vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">sh</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">npm</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> run</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> example</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> testing</span><span style="--shiki-light:#66707B;--shiki-dark:#BDC4CC;">   # installs and builds; Ctrl-C ends it</span></span>
<span class="line"><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;">cd</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> examples</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> &amp;&amp; </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">node</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> --experimental-vm-modules</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> node_modules/jest/bin/jest.js</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> --rootDir</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> dist/testing</span></span>
<span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">node_modules/.bin/vitest</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> run</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> --root</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> testing</span></span></code></pre></div></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("examples/testing/README.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const README = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  README as default
};
