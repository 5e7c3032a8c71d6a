/**
 * Node's HTTP module, taken without `import`: an import reads every export, and with them loads the WebSocket and `fetch` of
 * Node, which takes longer than everything else that `parley-a2a` loads.
 */
export const http = process.getBuiltinModule('node:http')
