/** Serves graphs of LangGraph (`@langchain/langgraph`). */

export type { AdapterOptions } from '../integrations/agents/framework-adapter.ts'
export { type LangGraphGraph, type LangGraphOptions, langgraph } from '../integrations/agents/langgraph.ts'
