/** What Cloudflare Workers give for such an import. */
declare module '*.wasm' {
  const module: WebAssembly.Module;
  export default module;
}
