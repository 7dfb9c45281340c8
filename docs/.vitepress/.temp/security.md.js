import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Security","description":"","frontmatter":{},"headers":[],"relativePath":"security.md","filePath":"SECURITY.md"}');
const _sfc_main = { name: "security.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="security" tabindex="-1">Security <a class="header-anchor" href="#security" aria-label="Permalink to &quot;Security&quot;">​</a></h1><h2 id="supported-versions" tabindex="-1">Supported versions <a class="header-anchor" href="#supported-versions" aria-label="Permalink to &quot;Supported versions&quot;">​</a></h2><p>The newest minor version gets security fixes. Before 1.0 that is the newest 0.x version. After a new major version, the last minor version of the previous major gets them for six more months.</p><h2 id="report-a-vulnerability" tabindex="-1">Report a vulnerability <a class="header-anchor" href="#report-a-vulnerability" aria-label="Permalink to &quot;Report a vulnerability&quot;">​</a></h2><p>Report it privately: open the <strong>Security</strong> tab of this repository on GitHub and choose <strong>Report a vulnerability</strong>. Don&#39;t open an issue or a pull request. Include the version, the store and its version, and the shortest program or request that shows the problem.</p><p>You get a reply within 3 working days, and an assessment within 10. A confirmed vulnerability is fixed in a release within 30 days if it is severe, and otherwise within 90. The release comes with an advisory that names you, unless you prefer otherwise. Please keep the report private until then.</p><h2 id="what-counts" tabindex="-1">What counts <a class="header-anchor" href="#what-counts" aria-label="Permalink to &quot;What counts&quot;">​</a></h2><ul><li>A key, label or option from a request that executes code, a command or a script in the application, the store or the lock dashboard.</li><li>The lock dashboard shows or breaks locks for a caller whom its guards reject, or for another website in a visitor&#39;s browser.</li><li>A secret, such as a password in a connection URL, in a log line, an error message, a metric or the dashboard.</li><li>A caller without access to the store makes a process use unbounded memory or processor time, although <code>maxWaiting</code> is set.</li><li>Two holders at once, or a fencing token that does not grow, in a situation that the <a href="/nestjs-distributed-lock/safety/">safety page</a> excludes.</li></ul><p>What does not count: a client that can write to the store can break locks there, and the losses that the safety page describes are limits of every distributed lock. Report a lock that behaves differently from the documentation as an ordinary bug if an attacker gains nothing by it.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("SECURITY.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const SECURITY = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  SECURITY as default
};
