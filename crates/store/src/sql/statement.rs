//! Every statement, once, for both databases.
//!
//! To SQLite `$1` is a name whose position is that of its first appearance; PostgreSQL goes by the number.
//! They agree while parameters first appear in numerical order, which a test below holds for all of them.

statements! {
    /// Joins a label into a session: one statement, no lock held by the caller.
    JOIN = "INSERT INTO session(id,agent,vserver,kind,created,seen,ended,calls,folded,epoch,bits,ver) \
            VALUES($1,$2,$3,$4,$5,$5,0,0,0,0,$6,1) \
            ON CONFLICT(id) DO UPDATE SET bits=session.bits|excluded.bits, seen=excluded.seen, ver=session.ver+1 \
            RETURNING epoch,bits,ver,pending,read_since,read_until";
    /// Joins one member of a set, in the same transaction.
    JOIN_MEMBER = "INSERT INTO session_set(session,kind,value) VALUES($1,$2,$3) ON CONFLICT DO NOTHING";
    /// Takes one member of a set away that others, first in its order, left no room for.
    FORGET_MEMBER = "DELETE FROM session_set WHERE session=$1 AND kind=$2 AND value=$3";
    /// Says of a session that its sets are not complete, in the transaction of a join.
    RAISE_BITS = "UPDATE session SET bits=bits|$1 WHERE id=$2";
    MEMBERS = "SELECT kind,value FROM session_set WHERE session=$1";
    /// Whether a copy is still the newest.
    VERSION = "SELECT epoch,ver FROM session WHERE id=$1";
    /// A session with its sets, as one snapshot.
    SESSION = "SELECT s.epoch,s.bits,s.ver,COALESCE(t.kind,''),COALESCE(t.value,''),s.pending,s.read_since,s.read_until \
               FROM session s LEFT JOIN session_set t ON t.session=s.id WHERE s.id=$1";

    /// Declassification, step 1: closes the epoch and leaves the label as it is.
    CLOSE_EPOCH = "UPDATE session SET epoch=epoch+1, ver=ver+1 WHERE id=$1 AND epoch=$2 RETURNING epoch,ver";
    /// Declassification, step 2: lowers the label if nothing was joined since.
    LOWER = "UPDATE session SET bits=$1, pending=0, read_since=0, read_until=0, ver=ver+1 WHERE id=$2 AND epoch=$3 AND ver=$4 RETURNING epoch,bits,ver";
    FORGET_MEMBERS = "DELETE FROM session_set WHERE session=$1";
    RECORD_DECLASSIFICATION = "INSERT INTO declassification(session,epoch,at,person,reason,old_label,new_label,outcome) \
            VALUES($1,$2,$3,$4,$5,$6,$7,$8)";
    SETTLE_DECLASSIFICATION = "UPDATE declassification SET outcome=$1 WHERE session=$2 AND epoch=$3";
    DECLASSIFICATIONS = "SELECT epoch,at,person,reason,old_label,new_label,outcome FROM declassification \
            WHERE session=$1 ORDER BY epoch DESC LIMIT $2";

    /// Takes the row of a presumed conversation and holds it until the transaction ends.
    OPEN_CONVERSATION = "INSERT INTO session(id,agent,vserver,kind,created,seen,ended,calls,folded,epoch,bits,ver,began) \
            VALUES($1,$2,$3,$4,$5,$5,0,0,0,0,0,0,$5) \
            ON CONFLICT(id) DO UPDATE SET agent=excluded.agent RETURNING seen,began";
    /// What a principal read before it had a presumed conversation, in sessions that nobody named.
    UNNAMED_SESSIONS = "SELECT id,bits,created,seen FROM session WHERE agent=$1 AND conversation='' \
            AND kind IN ('transport','connection','principal') AND ver>0";
    /// What a way brings along.
    WAY = "SELECT bits FROM session WHERE id=$1";
    ENTER = "INSERT INTO session(id,agent,vserver,kind,created,seen,ended,calls,folded,epoch,bits,ver,conversation,entered) \
            VALUES($1,$2,$3,$4,$5,$5,0,0,0,0,0,0,$6,$7) ON CONFLICT(id) DO UPDATE SET seen=excluded.seen, \
            conversation=excluded.conversation, entered=excluded.entered";
    /// The ways that were in use since the label of a conversation began and can come back, but for one.
    RAISE_WAYS = "UPDATE session SET bits=bits|$1, ver=ver+1 WHERE conversation=$2 AND ended=0 AND id<>$3 \
            AND entered>(SELECT c.first_epoch FROM session c WHERE c.id=$2)";
    RAISE_WAYS_MEMBER = "INSERT INTO session_set(session,kind,value) SELECT s.id,$1,$2 FROM session s \
            WHERE s.conversation=$3 AND s.ended=0 AND s.id<>$4 \
            AND s.entered>(SELECT c.first_epoch FROM session c WHERE c.id=$3) ON CONFLICT DO NOTHING";
    /// A silence has ended what went on: its label is pending.
    SET_PENDING = "UPDATE session SET pending=$1, read_since=$2, read_until=$3 WHERE id=$4";
    END_CONVERSATION = "UPDATE session SET bits=0, began=$1, epoch=epoch+1, first_epoch=epoch+1, ver=ver+1 WHERE id=$2";
    FORGET_OWN_MEMBERS = "DELETE FROM session_set WHERE session=$1 AND kind IN ('scope','class','origin')";
    FORGET_PENDING_MEMBERS = "DELETE FROM session_set WHERE session=$1 \
            AND kind IN ('pending-scope','pending-class','pending-origin')";
    /// A person says that this is no new conversation.
    JOIN_PENDING = "UPDATE session SET bits=bits|pending, pending=0, read_since=0, read_until=0, ver=ver+1 \
            WHERE id=$1 AND epoch=$2 AND read_until>0 RETURNING ver";
    /// A person says that it is: what is pending goes, and nothing else.
    DROP_PENDING = "UPDATE session SET pending=0, read_since=0, read_until=0, epoch=epoch+1, ver=ver+1 \
            WHERE id=$1 AND epoch=$2 AND read_until>0 RETURNING epoch,ver";
    BEGIN_AGAIN = "UPDATE session SET began=$1, first_epoch=epoch WHERE id=$2";
    /// The label of a conversation was lowered a while after its epoch was closed: everybody in it comes in anew.
    NEXT_EPOCH = "UPDATE session SET epoch=epoch+1, first_epoch=epoch+1, began=$1 WHERE id=$2 AND kind='presumed' \
            RETURNING epoch";
    /// A way that goes along with a person's word brings nothing of what was before.
    CLEAR_WAY = "UPDATE session SET bits=0, ver=ver+1 WHERE id=$1 AND conversation=$2";
    WAYS = "SELECT id FROM session WHERE conversation=$1";
    /// The ways into a conversation, last used first, for people.
    WAYS_SHOWN = "SELECT id,kind,seen,ended,said FROM session WHERE conversation=$1 ORDER BY seen DESC, id LIMIT $2";
    LAST_WAY = "SELECT id FROM session WHERE conversation=$1 AND ended=0 ORDER BY seen DESC, id LIMIT 1";

    /// Writes down what a client said of itself, so that its session can be taken up again.
    KEEP_TRANSPORT = "INSERT INTO session(id,agent,vserver,kind,created,seen,ended,calls,folded,epoch,bits,ver,conversation,said) \
            VALUES($1,$2,$3,$4,$5,$5,0,0,0,0,0,0,$6,$7) ON CONFLICT(id) DO UPDATE SET said=excluded.said, \
            conversation=CASE WHEN excluded.conversation='' THEN '' ELSE session.conversation END";
    TRANSPORT = "SELECT vserver,said,conversation FROM session WHERE id=$1 AND agent=$2 AND kind='transport' AND ended=0 AND said<>''";
    SEEN = "UPDATE session SET seen=$1 WHERE id=$2 AND seen<$1";
    END = "UPDATE session SET ended=$1 WHERE id=$2 AND ended=0";

    /// Takes the marks of a server and holds them until the transaction ends.
    TAKE_MARKS = "INSERT INTO mark_server(upstream,seq,generation) VALUES($1,1,0) \
            ON CONFLICT(upstream) DO UPDATE SET seq=mark_server.seq+1 RETURNING seq,generation";
    /// Says that marks are gone: whoever has a copy reads all of them again.
    MARKS_GONE = "UPDATE mark_server SET generation=generation+1 WHERE upstream=$1 RETURNING generation";
    MARK_SERVERS = "SELECT upstream,seq,generation FROM mark_server ORDER BY upstream";
    MARK_SERVER = "SELECT seq,generation FROM mark_server WHERE upstream=$1";
    WRITE_MARK = "INSERT INTO mark(id,upstream,kind,name,prints,weight,session,agent,tool,decision,at,bits,seq) \
            VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13) ON CONFLICT(id) DO UPDATE SET \
            prints=excluded.prints, weight=excluded.weight, decision=excluded.decision, \
            bits=mark.bits|excluded.bits, seq=excluded.seq";
    WRITE_MARK_MEMBER = "INSERT INTO mark_set(mark,part,value) VALUES($1,$2,$3) ON CONFLICT DO NOTHING";
    MARK = "SELECT id,upstream,kind,name,prints,session,agent,tool,decision,at,bits,seq FROM mark WHERE id=$1";
    MARK_MEMBERS = "SELECT mark,part,value FROM mark_set WHERE mark=$1";
    MARKS_SINCE = "SELECT id,upstream,kind,name,prints,session,agent,tool,decision,at,bits,seq FROM mark \
            WHERE upstream=$1 AND seq>$2";
    MARK_MEMBERS_SINCE = "SELECT t.mark,t.part,t.value FROM mark m JOIN mark_set t ON t.mark=m.id \
            WHERE m.upstream=$1 AND m.seq>$2";
    MARKS_OF_SESSION = "SELECT id FROM mark WHERE session=$1 AND upstream=$2 AND kind IN ($3,$4) ORDER BY at,seq,id";
    MARKS_HELD = "SELECT COUNT(*),CAST(COALESCE(SUM(weight),0) AS BIGINT) FROM mark \
            WHERE session=$1 AND upstream=$2 AND kind IN ($3,$4)";
    DROP_MARK = "DELETE FROM mark WHERE id=$1";
    DROP_MARK_MEMBERS = "DELETE FROM mark_set WHERE mark=$1";
    RECORD_CLEARING = "INSERT INTO mark_clearing(id,at,person,reason,marks) VALUES($1,$2,$3,$4,$5)";
    MAKE_PRINT_KEY = "INSERT INTO print_key(id,key) VALUES('one',$1) ON CONFLICT DO NOTHING";
    PRINT_KEY = "SELECT key FROM print_key WHERE id='one'";

    MAKE_SEAL_KEY = "INSERT INTO seal_key(id,key) VALUES('one',$1) ON CONFLICT DO NOTHING";
    SEAL_KEY = "SELECT key FROM seal_key WHERE id='one'";
    ANNOUNCE_GATEWAY = "INSERT INTO gateway(id,agent,operator,seen) VALUES($1,$2,$3,$4) \
            ON CONFLICT(id) DO UPDATE SET agent=excluded.agent, operator=excluded.operator, seen=excluded.seen";
    FORGET_GATEWAYS = "DELETE FROM gateway WHERE seen<$1";
    GATEWAYS = "SELECT id,agent,operator,seen FROM gateway WHERE seen>=$1 ORDER BY id";

    MINT_CONTEXT = "INSERT INTO context(id,created,person,note,label) VALUES($1,$2,$3,$4,$5)";
    CONTEXT = "SELECT label FROM context WHERE id=$1";
    CONTEXTS = "SELECT id,created,person,note,label FROM context ORDER BY created DESC, id LIMIT $1";

    NOTE = "INSERT INTO notice(id,at,agent,session,kind,message) VALUES($1,$2,$3,$4,$5,$6)";
    NOTICES = "SELECT id,at,agent,session,kind,message FROM notice ORDER BY at DESC, id LIMIT $1";

    /// Sessions that have a label of their own; the ways into them are not among them.
    SESSIONS = "SELECT id,agent,vserver,kind,created,seen,ended,epoch,bits,ver,pending,read_since,read_until FROM session \
            WHERE ($1='' OR agent=$1) AND seen<=$2 AND conversation='' ORDER BY seen DESC, id LIMIT $3";
    ONE_SESSION = "SELECT id,agent,vserver,kind,created,seen,ended,epoch,bits,ver,pending,read_since,read_until \
            FROM session WHERE id=$1";

    PINS = "SELECT kind,name,seen_digest,seen_text,seen_at,pin_digest,pin_text,pin_at,basis,believed,person,rejected \
            FROM pin WHERE server=$1 ORDER BY kind,name";
    PIN_KNOWN = "SELECT kind FROM pin WHERE server=$1 AND kind=$2 AND name=$3";
    SEE_PIN = "INSERT INTO pin(server,kind,name,seen_digest,seen_text,seen_at,pin_digest,pin_text,pin_at,basis,believed,\
            person,rejected,ver) VALUES($1,$2,$3,$4,$5,$6,'','',0,'',0,'','',1) \
            ON CONFLICT(server,kind,name) DO UPDATE SET seen_digest=excluded.seen_digest, \
            seen_text=excluded.seen_text, seen_at=excluded.seen_at, ver=pin.ver+1";
    LOSE_PIN = "UPDATE pin SET seen_digest='', seen_text='', ver=ver+1 WHERE server=$1 AND kind=$2 AND name=$3";
    FORGET_PIN = "DELETE FROM pin WHERE server=$1 AND kind=$2 AND name=$3 AND seen_digest='' AND pin_digest='' \
            AND rejected=''";
    /// Approves what is seen first. A person's decision stands above it.
    VOUCH_PIN = "UPDATE pin SET pin_digest=seen_digest, pin_text=seen_text, basis=$1, believed=1, person='', \
            pin_at=$2, ver=ver+1 WHERE server=$3 AND kind=$4 AND name=$5 AND seen_digest=$6 AND basis<>'person' \
            AND rejected<>seen_digest";
    /// Changes nothing that counts, and holds the rows until the transaction ends.
    TAKE_PINS = "UPDATE pin SET ver=ver+1 WHERE server=$1";
    /// Approves exactly the definition that was seen.
    APPROVE_PIN = "UPDATE pin SET pin_digest=seen_digest, pin_text=seen_text, basis='person', believed=$1, person=$2, \
            pin_at=$3, rejected='', ver=ver+1 WHERE server=$4 AND kind=$5 AND name=$6 AND seen_digest=$7";
    /// Approves everything that is seen and was not refused.
    APPROVE_PINS = "UPDATE pin SET pin_digest=seen_digest, pin_text=seen_text, basis='person', believed=$1, person=$2, \
            pin_at=$3, rejected=CASE WHEN kind='identity' THEN '' ELSE rejected END, ver=ver+1 \
            WHERE server=$4 AND seen_digest<>'' AND kind NOT IN ('resources','manifest','profile') \
            AND (rejected<>seen_digest OR kind='identity')";
    APPROVAL_EVENTS = "INSERT INTO pin_event(id,server,kind,name,at,what,digest,text,person,reason,decided) \
            SELECT $1 || '-' || kind || '-' || name,server,kind,name,$2,$3,seen_digest,'',$4,$5,1 FROM pin \
            WHERE server=$6 AND seen_digest<>'' AND kind NOT IN ('resources','manifest','profile') \
            AND (rejected<>seen_digest OR kind='identity') \
            AND (pin_digest<>seen_digest OR basis<>'person' OR believed<>$7)";
    REJECT_PIN = "UPDATE pin SET rejected=seen_digest, ver=ver+1 WHERE server=$1 AND kind=$2 AND name=$3 \
            AND seen_digest=$4";
    UNPIN = "UPDATE pin SET pin_digest='', pin_text='', pin_at=0, basis='', believed=0, person='' \
            WHERE server=$1 AND kind=$2 AND name=$3 AND pin_digest=$4";
    DROP_PIN = "DELETE FROM pin WHERE server=$1 AND kind=$2 AND name=$3";
    PIN_EVENT = "INSERT INTO pin_event(id,server,kind,name,at,what,digest,text,person,reason,decided) \
            VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11)";
    PIN_EVENTS = "SELECT kind,name,at,what,digest,text,person,reason FROM pin_event WHERE server=$1 \
            ORDER BY at DESC, id DESC LIMIT $2";
    PRUNE_PIN_EVENTS = "DELETE FROM pin_event WHERE server=$1 AND decided=0 AND id NOT IN (SELECT id FROM pin_event \
            WHERE server=$1 AND decided=0 ORDER BY at DESC, id DESC LIMIT $2)";
    /// Makes a token, if its name is free and there is room.
    CREATE_TOKEN = "INSERT INTO agent_token(name,sha256,prefix,terms,person,created,rotated,used,revoked) \
            SELECT $1,$2,$3,$4,$5,$6,0,0,0 WHERE (SELECT COUNT(*) FROM agent_token)<$7 ON CONFLICT DO NOTHING";
    ROTATE_TOKEN = "UPDATE agent_token SET sha256=$1, prefix=$2, rotated=$3 WHERE name=$4 AND revoked=0";
    REVOKE_TOKEN = "UPDATE agent_token SET revoked=$1 WHERE name=$2 AND revoked=0";
    USE_TOKEN = "UPDATE agent_token SET used=$1 WHERE name=$2 AND used<$1";
    TOKEN = "SELECT name,sha256,prefix,terms,person,created,rotated,used,revoked FROM agent_token WHERE name=$1";
    TOKENS = "SELECT name,sha256,prefix,terms,person,created,rotated,used,revoked FROM agent_token ORDER BY name";

    // Another value each time: what is as it was is not written.
    PROBE = "INSERT INTO node(id,boot_id,clean) VALUES($1,'',0) ON CONFLICT(id) DO UPDATE SET clean=1-node.clean";
    /// Every label becomes the top.
    TAINT_ALL = "UPDATE session SET bits=$1, ver=ver+1";

    /// Sessions that ended long ago, whose keys cannot come back, and ways that nobody has used for as long.
    PRUNE = "DELETE FROM session WHERE kind IN ('transport','connection','stateless') \
            AND ((ended>0 AND ended<$1) OR (conversation<>'' AND seen<$1))";
    PRUNE_MEMBERS = "DELETE FROM session_set WHERE session NOT IN (SELECT id FROM session)";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parameters of a statement in the order in which they first appear.
    fn first_appearances(statement: &str) -> Vec<u32> {
        let mut seen = Vec::new();
        for after in statement.split('$').skip(1) {
            let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
            let number = digits.parse().unwrap();
            if !seen.contains(&number) {
                seen.push(number);
            }
        }
        seen
    }

    #[test]
    fn parameters_first_appear_in_numerical_order_in_every_statement() {
        for (name, text) in ALL.iter().chain(crate::sql::approvals::ALL) {
            let seen = first_appearances(text);
            let expected: Vec<u32> = (1..).take(seen.len()).collect();
            assert_eq!(seen, expected, "{name}: {text}");
        }
    }

    #[test]
    fn the_order_check_sees_the_trap() {
        assert_eq!(first_appearances("UPDATE t SET a=$2 WHERE b=$1 AND c>$2"), [2, 1]);
    }
}
