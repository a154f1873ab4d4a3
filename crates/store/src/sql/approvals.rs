//! The statements about approvals, for both databases. See [`super::statement`] for what they must keep to.

macro_rules! credential_columns {
    () => {
        "id,person,handle,cose,counter,transports,aaguid,be,bs,fmt,attestation,client_data,created,enrolled_by,\
         confirmed,confirmed_by,revoked,revoked_by,revoked_why,name"
    };
}

macro_rules! request_columns {
    () => {
        "id,kind,person,principal,session,caller,tool,upstream,definition,canon,action,shown,told,question,need,\
         sensitive,state,created,expires,decided,decided_by"
    };
}

macro_rules! mandate_columns {
    () => {
        "id,receipt,person,agent,body,definitions,remaining,not_before,expires,revoked,revoked_by,revoked_why"
    };
}

macro_rules! remembered_columns {
    () => {
        "id,person,principal,session,tool,upstream,definition,targets,label,told,created,ends"
    };
}

statements! {
    /// Makes the installation, unless it is there.
    INSTALL = "INSERT INTO installation(id,server_id,rp_id,origin,created) VALUES('this',$1,$2,$3,$4) \
            ON CONFLICT DO NOTHING";
    INSTALLATION = "SELECT server_id,rp_id,origin,created FROM installation WHERE id='this'";

    COUNTING_CREDENTIAL = "SELECT id FROM credential WHERE revoked=0 LIMIT 1";
    /// Takes the row and holds it until the transaction ends.
    TAKE_INSTALLATION = "UPDATE installation SET created=created WHERE id='this' RETURNING rp_id,origin";
    SETTLE_INSTALLATION = "UPDATE installation SET rp_id=$1, origin=$2 WHERE id='this'";

    NAME_APPROVER = "INSERT INTO approver(id,handle,created) VALUES($1,$2,$3) ON CONFLICT DO NOTHING";
    HANDLE = "SELECT handle FROM approver WHERE id=$1";
    APPROVERS = "SELECT id FROM approver ORDER BY id";

    OPEN_WINDOW = "INSERT INTO enrollment_window(person,code,opened_by,opened,expires,attempts) \
            VALUES($1,$2,$3,$4,$5,0) ON CONFLICT(person) DO UPDATE SET code=excluded.code, \
            opened_by=excluded.opened_by, opened=excluded.opened, expires=excluded.expires, attempts=0";
    WINDOW = "SELECT person,code,opened_by,opened,expires,attempts FROM enrollment_window \
            WHERE person=$1 AND expires>$2";
    CLOSE_WINDOW = "DELETE FROM enrollment_window WHERE person=$1";
    /// Counts the attempt before it is judged, so that many at once are counted.
    COUNT_ATTEMPT = "UPDATE enrollment_window SET attempts=attempts+1 WHERE person=$1 AND expires>$2 AND code<>'' \
            RETURNING code,attempts";
    FORGIVE_ATTEMPT = "UPDATE enrollment_window SET attempts=attempts-1 WHERE person=$1";

    BEGIN_ENROLLMENT = "INSERT INTO enrollment(principal,person,handle,challenge,expires) VALUES($1,$2,$3,$4,$5) \
            ON CONFLICT(principal) DO UPDATE SET person=excluded.person, handle=excluded.handle, \
            challenge=excluded.challenge, expires=excluded.expires";
    TAKE_ENROLLMENT = "DELETE FROM enrollment WHERE principal=$1 RETURNING person,handle,challenge,expires";

    ADD_CREDENTIAL = concat!("INSERT INTO credential(", credential_columns!(), ") \
            VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,0,'','','') ON CONFLICT DO NOTHING");
    CREDENTIALS = concat!("SELECT ", credential_columns!(), " FROM credential \
            WHERE ($1='' OR person=$1) ORDER BY created,id");
    CREDENTIAL = concat!("SELECT ", credential_columns!(), " FROM credential WHERE id=$1");
    CONFIRM_CREDENTIAL = "UPDATE credential SET confirmed=$1, confirmed_by=$2 WHERE id=$3 AND confirmed=0 AND revoked=0";
    RENAME_CREDENTIAL = "UPDATE credential SET name=$1 WHERE id=$2 AND revoked=0";
    REVOKE_CREDENTIAL = "UPDATE credential SET revoked=$1, revoked_by=$2, revoked_why=$3 WHERE id=$4 AND revoked=0";
    REVOKE_ALL = "UPDATE credential SET revoked=$1, revoked_by=$2, revoked_why=$3 WHERE person=$4 AND revoked=0";
    /// T1 and T2, after the challenge: stores the counter of an assertion, if it may follow (S50, S53).
    RAISE_COUNTER = "UPDATE credential SET counter=$1, bs=$2 WHERE id=$3 AND person=$4 AND revoked=0 AND confirmed>0 \
            AND (counter=0 OR counter<$1)";

    /// Takes the row of whoever asks and holds it until the transaction ends.
    TAKE_ASKER = "INSERT INTO asker(principal,asked) VALUES($1,$2) \
            ON CONFLICT(principal) DO UPDATE SET asked=excluded.asked";
    DECLINES = "SELECT declines FROM tool_decline WHERE principal=$1 AND tool=$2";
    COUNT_DECLINE = "INSERT INTO tool_decline(principal,tool,declines,last) VALUES($1,$2,1,$3) \
            ON CONFLICT(principal,tool) DO UPDATE SET declines=tool_decline.declines+1, last=excluded.last";
    FORGET_DECLINES = "DELETE FROM tool_decline WHERE principal=$1 AND tool=$2";
    PAUSED = "SELECT principal,tool,declines,last FROM tool_decline WHERE declines>=$1 ORDER BY last DESC,principal,tool";
    LAST_DECLINE = "SELECT decided FROM approval WHERE principal=$1 AND action=$2 AND state='declined' AND decided>$3 \
            ORDER BY decided DESC LIMIT 1";
    /// What is granted or waits for the same action of the same conversation, the grant first.
    LIVE = concat!("SELECT ", request_columns!(), " FROM approval WHERE principal=$1 AND action=$2 AND session=$3 \
            AND ((state='pending' AND expires>$4) OR (state='approved' AND decided>$5)) ORDER BY state,created DESC,id");
    COUNT_PENDING = "SELECT COUNT(*) FROM approval WHERE principal=$1 AND state='pending' AND expires>$2";
    ASK = concat!("INSERT INTO approval(", request_columns!(), ",ver) \
            VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,'pending',$17,$18,0,'',0)");
    REQUEST = concat!("SELECT ", request_columns!(), " FROM approval WHERE id=$1");
    REQUESTS = concat!("SELECT ", request_columns!(), " FROM approval WHERE ($1='' OR person=$1) \
            AND ($2='' OR principal=$2) ORDER BY created DESC,id LIMIT $3");
    REQUESTS_IN = concat!("SELECT ", request_columns!(), " FROM approval WHERE ($1='' OR person=$1) \
            AND ($2='' OR principal=$2) AND state=$3 ORDER BY created DESC,id LIMIT $4");
    /// A no ends what waits and takes back what was granted.
    DECLINE = "UPDATE approval SET state='declined', decided=$1, decided_by=$2, ver=ver+1 WHERE id=$3 \
            AND ((state='pending' AND expires>$1) OR state='approved') RETURNING principal,tool";
    CONFIRM = "UPDATE approval SET state='approved', decided=$1, decided_by=$2, ver=ver+1 WHERE id=$3 \
            AND kind='confirm' AND state='pending' AND expires>$1 RETURNING principal,tool";
    END_REQUEST = "UPDATE approval SET state='expired', decided=$1, ver=ver+1 WHERE id=$2 \
            AND (state='pending' OR state='approved')";
    EXPIRE_REQUESTS = "UPDATE approval SET state='expired', decided=$1, ver=ver+1 \
            WHERE (state='pending' AND expires<=$1) OR (state='approved' AND decided<=$2) RETURNING id";
    /// Clears what is nobody's business any more: everything that leads to the arguments.
    CLEAR_REQUESTS = "UPDATE approval SET canon='', action='', shown='', question='', ver=ver+1 \
            WHERE sensitive=1 AND canon<>'' \
            AND (state='consumed' OR state='expired' OR (state='declined' AND decided<=$1)) RETURNING id";
    CLEAR_REQUEST = "UPDATE approval SET canon='', action='', shown='', question='', ver=ver+1 \
            WHERE id=$1 AND sensitive=1";
    CLEAR_CHALLENGES = "UPDATE challenge SET canon='', action='', wire=id, \
            expires=CASE WHEN consumed=0 THEN 0 ELSE expires END WHERE approval=$1";
    CLEAR_CHALLENGE = "UPDATE challenge SET canon='', action='', wire=id WHERE id=$1 AND (consumed>0 OR expires<=$2)";
    /// Of what is over only that it is over is ever asked again (G5).
    CLEAR_OVER = "UPDATE challenge SET canon='', action='', wire=id WHERE canon<>'' AND (consumed>0 OR expires<=$1)";
    PRUNE_CHALLENGES = "DELETE FROM challenge WHERE issued<$1";
    PRUNE_REQUESTS = "DELETE FROM approval WHERE created<$1 AND state<>'pending' AND state<>'approved'";
    PRUNE_REMEMBERED = "DELETE FROM remembered WHERE ends<=$1";

    /// T2 and T3: the request as it is, held until the transaction ends.
    TAKE_REQUEST = concat!("UPDATE approval SET ver=ver+1 WHERE id=$1 RETURNING ", request_columns!());
    /// Who signed for a request, and whether their credential still counts.
    SIGNATURES = "SELECT c.person,k.revoked FROM challenge c JOIN credential k ON k.id=c.credential \
            WHERE c.approval=$1 AND c.consumed>0";
    APPROVE = "UPDATE approval SET state='approved', decided=$1, decided_by=$2, ver=ver+1 WHERE id=$3 \
            AND state='pending' AND expires>$1";
    /// T3: uses up a grant.
    CONSUME_GRANT = concat!("UPDATE approval SET state='consumed', ver=ver+1 WHERE id=$1 AND state='approved' \
            AND principal=$2 AND action=$3 AND session=$4 AND decided>$5 RETURNING ", request_columns!());
    VOID_GRANT = "UPDATE approval SET state='expired', decided=$1, ver=ver+1 WHERE id=$2";

    COUNT_CHALLENGES = "SELECT COUNT(*) FROM challenge WHERE approval=$1";
    PUT_CHALLENGE = "INSERT INTO challenge(id,approval,principal,person,tool,upstream,definition,canon,action,wire,\
            issued,expires,consumed,credential) VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,0,'')";
    /// One statement, so that both rows are of one moment (G24).
    CHALLENGE_AND_CREDENTIAL = "SELECT c.id,c.approval,c.principal,c.person,c.tool,c.upstream,c.definition,c.canon,\
            c.wire,c.issued,c.expires,c.consumed,\
            COALESCE(k.id,''),COALESCE(k.person,''),COALESCE(k.handle,''),COALESCE(k.cose,''),COALESCE(k.counter,0),\
            COALESCE(k.transports,''),COALESCE(k.aaguid,''),COALESCE(k.be,0),COALESCE(k.bs,0),COALESCE(k.fmt,''),\
            COALESCE(k.attestation,''),COALESCE(k.client_data,''),COALESCE(k.created,0),COALESCE(k.enrolled_by,''),\
            COALESCE(k.confirmed,0),COALESCE(k.confirmed_by,''),COALESCE(k.revoked,0),COALESCE(k.revoked_by,''),\
            COALESCE(k.revoked_why,''),COALESCE(k.name,'') FROM challenge c LEFT JOIN credential k ON k.id=$1 WHERE c.id=$2";
    /// T1: consumes a challenge that a native client asked for.
    CONSUME_CHALLENGE = "UPDATE challenge SET consumed=$1, credential=$2 WHERE id=$3 AND principal=$4 AND action=$5 \
            AND approval='' AND consumed=0 AND expires>$1 RETURNING tool";
    /// T2: consumes a challenge of the page.
    CONSUME_FOR_REQUEST = "UPDATE challenge SET consumed=$1, credential=$2 WHERE id=$3 AND approval=$4 AND action=$5 \
            AND consumed=0 AND expires>$1 RETURNING tool";
    CHALLENGE_STATE = "SELECT consumed FROM challenge WHERE id=$1";

    /// Takes the next place of a chain, and holds the chain until the transaction ends.
    NEXT_RECEIPT = "INSERT INTO receipt_chain(id,next,head) VALUES($1,1,'') \
            ON CONFLICT(id) DO UPDATE SET next=receipt_chain.next+1 RETURNING next,head";
    FILE_RECEIPT = "INSERT INTO receipt(chain,seq,id,approval,made,body) VALUES($1,$2,$3,$4,$5,$6)";
    MOVE_CHAIN = "UPDATE receipt_chain SET head=$1 WHERE id=$2";
    RECEIPTS = "SELECT chain,seq,id,body FROM receipt WHERE chain=$1 AND seq>=$2 ORDER BY seq LIMIT $3";
    RECEIPT = "SELECT chain,seq,id,body FROM receipt WHERE id=$1";
    RECEIPTS_OF = "SELECT chain,seq,id,body FROM receipt WHERE approval=$1 ORDER BY made,chain,seq";
    CHAINS = "SELECT id,next FROM receipt_chain ORDER BY id";

    /// A mandate rests on a receipt that is there, and on each receipt one.
    PUT_MANDATE = concat!("INSERT INTO mandate(", mandate_columns!(), ") SELECT $1,$2,$3,$4,$5,$6,$7,$8,$9,0,'','' \
            WHERE EXISTS(SELECT 1 FROM receipt WHERE id=$2) ON CONFLICT DO NOTHING");
    MANDATES = concat!("SELECT ", mandate_columns!(), " FROM mandate WHERE ($1='' OR agent=$1) \
            ORDER BY expires DESC,id LIMIT $2");
    MANDATE = concat!("SELECT ", mandate_columns!(), " FROM mandate WHERE id=$1");
    REVOKE_MANDATE = "UPDATE mandate SET revoked=$1, revoked_by=$2, revoked_why=$3 WHERE id=$4 AND revoked=0";
    /// T4: uses a mandate once.
    USE_MANDATE = "UPDATE mandate SET remaining=remaining-1 WHERE id=$1 AND remaining>0 AND revoked=0 \
            AND not_before<=$2 AND expires>$2 RETURNING remaining,person";

    /// Takes a round of an approved execution.
    TAKE_ROUND = "INSERT INTO taken_round(id,ends) VALUES($1,$2) ON CONFLICT DO NOTHING";
    PRUNE_ROUNDS = "DELETE FROM taken_round WHERE ends<$1";

    REMEMBER = concat!("INSERT INTO remembered(", remembered_columns!(), ") \
            VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12)");
    REMEMBERED = concat!("SELECT ", remembered_columns!(), " FROM remembered WHERE principal=$1 AND tool=$2 \
            AND ends>$3 ORDER BY created DESC,id");
    ALL_REMEMBERED = concat!("SELECT ", remembered_columns!(), " FROM remembered WHERE ends>$1 ORDER BY created DESC,id");
    FORGET = "DELETE FROM remembered WHERE id=$1";

    BEGIN_RECOVERY = "INSERT INTO recovery(person,begun_by,begun,due) VALUES($1,$2,$3,$4) ON CONFLICT DO NOTHING";
    CANCEL_RECOVERY = "DELETE FROM recovery WHERE person=$1";
    END_RECOVERY = "DELETE FROM recovery WHERE person=$1 AND due<=$2";
    RECOVERY = "SELECT due FROM recovery WHERE person=$1";
    /// What is open when a person starts over counts no more, also if that is stopped.
    VOID_CHALLENGES_OF = "UPDATE challenge SET expires=0 WHERE person=$1 AND consumed=0";
    VOID_GRANTS_OF = "UPDATE approval SET state='expired', decided=$1, ver=ver+1 WHERE person=$2 AND state='approved' \
            RETURNING id";
    REVOKE_MANDATES_OF = "UPDATE mandate SET revoked=$1, revoked_by=$2, revoked_why=$3 WHERE person=$4 AND revoked=0";
    RECOVERIES = "SELECT person,begun_by,begun,due FROM recovery ORDER BY due,person";

    /// After a start that may have lost something, nothing outstanding counts.
    VOID_REQUESTS = "UPDATE approval SET state='expired', ver=ver+1 WHERE state='pending' OR state='approved'";
    VOID_CHALLENGES = "UPDATE challenge SET expires=0 WHERE consumed=0";
    VOID_ENROLLMENTS = "DELETE FROM enrollment";
    VOID_WINDOWS = "DELETE FROM enrollment_window";
}
