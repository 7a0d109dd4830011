#include "cache/policy.h"
#include <stdlib.h>
const char *const ts_policy_names[TS_POLICIES + 1] = {"lru","lfu","clock","s3fifo","sieve","tinylfu",NULL};
struct ts_policy { ts_policy_pool pool; uint64_t hand; };
int32_t ts_policy_create(ts_policy_kind kind, const ts_policy_pool *pool, ts_policy **out) {(void)kind; ts_policy *p = calloc(1,sizeof *p); p->pool=*pool; *out=p; return 0;}
void ts_policy_destroy(ts_policy *p) { free(p); }
void ts_policy_insert(ts_policy *p, uint64_t slot, ts_policy_word *w, uint64_t hash) {(void)p;(void)slot;(void)hash; atomic_store_explicit(w,1,memory_order_relaxed);}
void ts_policy_touch(ts_policy *p, ts_policy_word *const *w, const uint64_t *h, uint32_t n) {(void)p;(void)h; for(uint32_t i=0;i<n;i++) if (atomic_load_explicit(w[i],memory_order_relaxed)!=3) atomic_store_explicit(w[i],3,memory_order_relaxed);}
void ts_policy_remove(ts_policy *p, uint64_t slot, ts_policy_word *w, uint64_t hash, bool e) {(void)p;(void)slot;(void)hash;(void)e; atomic_store_explicit(w,0,memory_order_relaxed);}
void ts_policy_move(ts_policy *p, uint64_t from, ts_policy_word *fw, uint64_t to, ts_policy_word *tw) {(void)p;(void)from;(void)to; atomic_store(tw,atomic_load(fw)); atomic_store(fw,0);}
uint32_t ts_policy_victims(ts_policy *p, uint32_t want, uint64_t *slots) {
  uint64_t n; uint32_t got=0; uint64_t total=0; for(;;){uint64_t m; p->pool.span(p->pool.context,total,&m); if(!m)break; total+=m;}
  for (uint64_t step=0; step<2*total && got<want; step++) { if (p->hand>=total) p->hand=0; uint64_t s=p->hand++; ts_policy_word *w=p->pool.span(p->pool.context,s,&n); uint32_t v=atomic_load(w); if(v==0)continue; if(v==3){atomic_store(w,1);continue;} bool dup=false; for(uint32_t i=0;i<got;i++) dup|=slots[i]==s; if(dup)break; slots[got++]=s; }
  return got; }
