"""The whole product on the local cluster: chart, operator, real pods, the real engine, a hub over HTTP."""
