/** The options of MiniSearch, for the search box and for its test. */
export const miniSearch = {
  options: {
    // Chinese has no spaces between words: each character is one. (VitePress sends this function to the browser.)
    tokenize: (text) =>
      text
        .split(/[\n\r\p{Z}\p{P}\p{S}]+|(?<=\p{Script=Han})|(?=\p{Script=Han})/u)
        .filter((word) => word !== ''),
  },
  searchOptions: {
    // A line of a log has words that no page has, such as a key.
    combineWith: 'OR',
    // One wrong letter, or two in long words: "deadlock" is not "redlock".
    fuzzy: 0.15,
    // What readers look for is rather in a guide than in one of many types, in an example or in a page for maintainers.
    boostDocument: (id) =>
      /\/reference\/api\//.test(id) ? 0.5 : /\/internals\/|\/changelog|\/examples\//.test(id) ? 0.2 : 1,
  },
};
