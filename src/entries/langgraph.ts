/** Serves graphs of LangGraph (`@langchain/langgraph`). Makes other agents tools of theirs. */

export type { RemoteTarget } from '../core/client/remote-tool.ts'
export type { AsToolOptions } from '../integrations/agents/as-tool.ts'
export type { AdapterOptions, RemoteQuestion } from '../integrations/agents/framework-adapter.ts'
export {
  asTool,
  type LangGraphGraph,
  type LangGraphOptions,
  type LangGraphTool,
  langgraph,
} from '../integrations/agents/langgraph.ts'
