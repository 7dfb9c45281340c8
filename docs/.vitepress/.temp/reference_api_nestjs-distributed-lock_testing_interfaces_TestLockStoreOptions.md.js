import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Interface: TestLockStoreOptions","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/testing/interfaces/TestLockStoreOptions.md","filePath":"docs/reference/api/nestjs-distributed-lock/testing/interfaces/TestLockStoreOptions.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/testing/interfaces/TestLockStoreOptions.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="interface-testlockstoreoptions" tabindex="-1">Interface: TestLockStoreOptions <a class="header-anchor" href="#interface-testlockstoreoptions" aria-label="Permalink to &quot;Interface: TestLockStoreOptions&quot;">​</a></h1><p>Options of <a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/testing/classes/TestLockStore">TestLockStore</a>.</p><h2 id="properties" tabindex="-1">Properties <a class="header-anchor" href="#properties" aria-label="Permalink to &quot;Properties&quot;">​</a></h2><h3 id="frozen" tabindex="-1">frozen? <a class="header-anchor" href="#frozen" aria-label="Permalink to &quot;frozen?&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly frozen</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">?:</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> boolean;</span></span></code></pre></div><p>Whether time stands still between calls of <code>advance</code>. All times are then exact. Anything that waits does so until the test advances the time, including the shutdown of a module that still holds a lock.</p><h4 id="default" tabindex="-1">Default <a class="header-anchor" href="#default" aria-label="Permalink to &quot;Default&quot;">​</a></h4><p>false: time runs as usual, and <code>advance</code> skips some of it</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/testing/interfaces/TestLockStoreOptions.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const TestLockStoreOptions = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  TestLockStoreOptions as default
};
