import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"prisma","description":"","frontmatter":{},"headers":[],"relativePath":"examples/prisma.md","filePath":"examples/prisma/README.md"}');
const _sfc_main = { name: "examples/prisma.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="prisma" tabindex="-1">prisma <a class="header-anchor" href="#prisma" aria-label="Permalink to &quot;prisma&quot;">​</a></h1><p>A lock around an interactive transaction of Prisma 7, with a fencing token in the row. Guide: <a href="/nestjs-distributed-lock/guides/transactions#prisma">Prisma</a>.</p><div class="language-sh vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">sh</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">npm</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> run</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> example</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> prisma</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> 2</span><span style="--shiki-light:#66707B;--shiki-dark:#BDC4CC;">   # with a private PostgreSQL, or the one of DATABASE_URL</span></span>
<span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">curl</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -X</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> PUT</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> localhost:3000/courses/go</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -H</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> &#39;content-type: application/json&#39;</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -d</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> &#39;{&quot;capacity&quot;:5}&#39;</span></span>
<span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">curl</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -X</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> POST</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> localhost:3000/courses/go/enrolments</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -H</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> &#39;content-type: application/json&#39;</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -d</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> &#39;{&quot;student&quot;:&quot;ann&quot;}&#39;</span></span></code></pre></div><p>The tables come from the <a href="https://repository.example/nestjs-distributed-lock/blob/main/examples/prisma/prisma/migrations/20260101000000_init/migration.sql" target="_blank" rel="noreferrer">migration</a>. With your own <code>DATABASE_URL</code>, run <code>npx prisma migrate deploy</code> in this folder first.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("examples/prisma/README.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const README = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  README as default
};
